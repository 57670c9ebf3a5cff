//! Checks that a request fits into the model's window before it is sent.
//!
//! A server may refuse a request that is too long, cut it silently, or charge for reading it. So a
//! request that is certainly too long is not sent, and the conversation is compacted first. The
//! refusal uses a low token estimate, because a request that would fit must not be refused;
//! replacements are chosen by a high estimate. Reported token counts decide earlier
//! ([`ContextWindow`](crate::compaction::ContextWindow)).

use std::sync::Arc;

use super::Context;
use crate::conversation::{Block, EntryContent, UserInput};
use crate::failure::Failure;
use crate::tool::{ToolResult, ToolSpec};

/// An upper bound of the average text bytes per token. English has between four and five, most
/// other text fewer.
const MAX_BYTES_PER_TOKEN: usize = 6;

/// A lower bound of the average text bytes per token.
const MIN_BYTES_PER_TOKEN: usize = 3;

/// The number of bytes of an opaque part that count as one byte of text. Most parts are encrypted
/// thinking, which is longer than its text.
const OPAQUE_BYTES_PER_TEXT_BYTE: usize = 2;

/// The fewest tokens of a picture.
const MIN_PICTURE_TOKENS: usize = 1_000;

/// The most bytes of pictures in one request. Anthropic refuses requests of more than 32 MB.
const MAX_PICTURE_BYTES: usize = 28 * 1024 * 1024;

/// The share of the window, in percent, that a compaction reads of a conversation that does not
/// fit.
const MAX_READ_PERCENT: usize = 75;

/// The share of the window, in percent, that one text may fill.
const MAX_TEXT_PERCENT: usize = 50;

/// The number of tokens that a model reads in one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimit(pub u64);

impl RequestLimit {
    /// Returns the failure of a request that certainly does not fit.
    pub fn check(self, context: &Context) -> Option<Failure> {
        let sizes = context.entries.iter().map(|said| Size::of_entry(said));
        let size = sizes.fold(Size::fixed(&context.instructions, &context.tools), Size::plus);
        let tokens = size.tokens(MAX_BYTES_PER_TOKEN);
        if tokens > self.tokens() {
            let text = format!("at least {tokens} tokens, and it reads {} at once", self.0);
            return Some(Failure::ContextFull(text));
        }
        let megabytes = size.picture_bytes / 1024 / 1024;
        (size.picture_bytes > MAX_PICTURE_BYTES)
            .then(|| Failure::ContextFull(format!("{megabytes} MB of pictures")))
    }

    /// Returns the newest part of `said` that a compaction can read, after a note, and the number
    /// of omitted entries; `None` if all of it may fit.
    pub fn newest_part(self, said: &[Arc<EntryContent>]) -> Option<(Vec<Arc<EntryContent>>, usize)> {
        let all = said.iter().map(|said| Size::of_entry(said)).fold(Size::default(), Size::plus);
        if all.tokens(MAX_BYTES_PER_TOKEN) <= self.tokens() && all.picture_bytes <= MAX_PICTURE_BYTES {
            return None;
        }
        let max_tokens = self.tokens() * MAX_READ_PERCENT / 100;
        let mut read = Size::default();
        let mut from = said.len();
        for (index, said) in said.iter().enumerate().rev() {
            read = read.plus(Size::of_entry(said));
            if read.tokens(MIN_BYTES_PER_TOKEN) > max_tokens || read.picture_bytes > MAX_PICTURE_BYTES {
                break;
            }
            from = index;
        }
        // A result without its call is invalid.
        let begins = |said: &Arc<EntryContent>| !matches!(**said, EntryContent::Tools(_));
        let from = said[from..].iter().position(begins).map_or(said.len(), |index| from + index);
        let note =
            format!("[{from} older entries are left out here: the conversation is longer than you can read]");
        let note = Arc::new(EntryContent::User(UserInput::note(note)));
        Some((std::iter::once(note).chain(said[from..].iter().cloned()).collect(), from))
    }

    /// Returns `said` with each text cut that alone would fill a large part of the window; `None`
    /// if there is no such text.
    ///
    /// The result depends only on the entry and the window, so that every request contains the same bytes of it.
    pub fn shorten_entry(self, said: &EntryContent) -> Option<EntryContent> {
        let max_bytes = self.tokens() * MAX_TEXT_PERCENT / 100 * MIN_BYTES_PER_TOKEN;
        let cut =
            |text: &str| if text.len() > max_bytes { shorten_text(text, max_bytes) } else { text.to_owned() };
        let is_long = |text: &str| text.len() > max_bytes;
        match said {
            EntryContent::User(heard) if is_long(&heard.text) => {
                Some(EntryContent::User(UserInput { text: cut(&heard.text), ..heard.clone() }))
            }
            EntryContent::Assistant(blocks, reach) => {
                let long = |block: &Block| matches!(block, Block::Text(text) if is_long(text));
                let block = |block: &Block| match block {
                    Block::Text(text) => Block::Text(cut(text)),
                    Block::Call(_) | Block::Opaque(_) => block.clone(),
                };
                let is_cut = blocks.iter().any(long);
                is_cut.then(|| EntryContent::Assistant(blocks.iter().map(block).collect(), *reach))
            }
            EntryContent::Tools(results) if results.iter().any(|result| is_long(&result.text)) => {
                let result = |result: &ToolResult| ToolResult { text: cut(&result.text), ..result.clone() };
                Some(EntryContent::Tools(results.iter().map(result).collect()))
            }
            EntryContent::Summary(text) if is_long(text) => Some(EntryContent::Summary(cut(text))),
            EntryContent::User(_)
            | EntryContent::Tools(_)
            | EntryContent::Summary(_)
            | EntryContent::SummaryRecalled(_) => None,
        }
    }

    fn tokens(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX / 1024)
    }
}

/// The bytes of a request or of a part of it, by kind.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    text: usize,
    opaque: usize,
    picture_count: usize,
    picture_bytes: usize,
}

impl Size {
    fn fixed(instructions: &str, tools: &[ToolSpec]) -> Self {
        let tool = |tool: &ToolSpec| tool.name.len() + tool.description.len() + tool.schema.len();
        Self { text: instructions.len() + tools.iter().map(tool).sum::<usize>(), ..Self::default() }
    }

    fn of_entry(said: &EntryContent) -> Self {
        let text = |text: usize| Self { text, ..Self::default() };
        match said {
            EntryContent::User(heard) => Self {
                text: heard.preface.len() + heard.text.len(),
                opaque: 0,
                picture_count: heard.images.len(),
                picture_bytes: heard.images.iter().map(|image| image.data.len()).sum(),
            },
            EntryContent::Assistant(blocks, _) => {
                blocks.iter().map(Self::of_block).fold(Self::default(), Self::plus)
            }
            EntryContent::Tools(results) => text(results.iter().map(|result| result.text.len()).sum()),
            EntryContent::Summary(words) => text(words.len()),
            EntryContent::SummaryRecalled(_) => Self::default(),
        }
    }

    fn of_block(block: &Block) -> Self {
        match block {
            Block::Text(text) => Self { text: text.len(), ..Self::default() },
            Block::Call(call) => Self { text: call.name.len() + call.input.0.len(), ..Self::default() },
            Block::Opaque(opaque) => Self { opaque: opaque.json.0.len(), ..Self::default() },
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            text: self.text + other.text,
            opaque: self.opaque + other.opaque,
            picture_count: self.picture_count + other.picture_count,
            picture_bytes: self.picture_bytes + other.picture_bytes,
        }
    }

    fn tokens(self, text_bytes: usize) -> usize {
        (self.text + self.opaque / OPAQUE_BYTES_PER_TEXT_BYTE) / text_bytes
            + self.picture_count * MIN_PICTURE_TOKENS
    }
}

/// Returns the beginning and the end of `text` in at most `max_bytes`, with a note between them.
fn shorten_text(text: &str, max_bytes: usize) -> String {
    let start = text.floor_char_boundary(max_bytes * 3 / 4);
    let end = text.ceil_char_boundary(text.len() - max_bytes / 4);
    let left_out = text[start..end].chars().count();
    let note = format!("\n[{left_out} characters are left out here: the text is longer than you can read]\n");
    format!("{}{note}{}", &text[..start], &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Completeness, Image, Json, Opaque, Text};
    use crate::label::Label;
    use crate::tool::{Outcome, ToolCall};

    const WINDOW: RequestLimit = RequestLimit(200_000);

    fn user_message(text: &str) -> Arc<EntryContent> {
        Arc::new(EntryContent::User(UserInput {
            preface: String::new(),
            text: text.to_owned(),
            images: Vec::new(),
        }))
    }

    fn result(text: &str) -> Arc<EntryContent> {
        let text = text.to_owned();
        let outcome = Outcome::Done;
        Arc::new(EntryContent::Tools(vec![ToolResult {
            call: "a".to_owned(),
            text,
            outcome,
            label: Label::PLAIN,
        }]))
    }

    fn answer(blocks: Vec<Block>) -> Arc<EntryContent> {
        Arc::new(EntryContent::Assistant(blocks, Completeness::Complete))
    }

    fn call() -> Arc<EntryContent> {
        let id = "a".to_owned();
        let name = "note".to_owned();
        let input = Json("{}".to_owned());
        answer(vec![Block::Call(ToolCall { id, name, input })])
    }

    fn context(said: Vec<Arc<EntryContent>>) -> Context {
        Context {
            branch: crate::conversation::Branch::Main,
            model: None,
            thinking: crate::thinking::Thinking::Off,
            effort: crate::effort::Effort::Low,
            interactive: true,
            tools: Arc::from([]),
            instructions: Arc::from("x".repeat(4_000)),
            entries: said,
            notes: Vec::new(),
            transient_count: 0,
        }
    }

    #[test]
    fn oversized_request_is_refused_before_sending() {
        let refused = |said| WINDOW.check(&context(said)).map(|failure| failure.to_string());
        assert_eq!(refused(vec![user_message(&"x".repeat(1_196_000))]), None);
        let told = refused(vec![user_message(&"x".repeat(800_000)), result(&"x".repeat(402_000))]).unwrap();
        assert!(told.contains("at least 201000 tokens, and it reads 200000 at once"), "{told}");
        // Encrypted thinking counts less than its length.
        let opaque = Opaque { origin: String::new(), json: Json("x".repeat(2_300_000)) };
        assert_eq!(refused(vec![answer(vec![Block::Opaque(opaque)])]), None);
    }

    #[test]
    fn pictures_have_their_own_limit() {
        let picture = |bytes| Image { media_type: "image/png".to_owned(), data: "x".repeat(bytes) };
        let with = |images| {
            let heard = UserInput { preface: String::new(), text: "look".to_owned(), images };
            WINDOW.check(&context(vec![Arc::new(EntryContent::User(heard))]))
        };
        assert_eq!(with(vec![picture(20 * 1024 * 1024)]), None);
        let two = with(vec![picture(20 * 1024 * 1024), picture(20 * 1024 * 1024)]);
        assert_eq!(two, Some(Failure::ContextFull("40 MB of pictures".to_owned())));
    }

    /// A history of 200,000 entries is summarized from its newest part, which does not begin with a
    /// tool result.
    #[test]
    fn compaction_of_a_long_history_reads_its_newest_part() {
        let one = [
            user_message(&"x".repeat(120)),
            call(),
            result(&"y".repeat(200)),
            answer(vec![Block::Text("z".repeat(160))]),
        ];
        let said: Vec<Arc<EntryContent>> = one.iter().cycle().take(200_000).cloned().collect();
        assert!(WINDOW.check(&context(said.clone())).is_some());
        let (read, left_out) = WINDOW.newest_part(&said).unwrap();
        assert_eq!(read.len() - 1, 200_000 - left_out);
        let bytes: usize = read.iter().map(|said| said.text().len()).sum();
        assert!((400_000..=450_000).contains(&bytes), "{bytes}");
        let EntryContent::User(note) = &*read[0] else { panic!("no note") };
        assert!(note.preface.contains(&format!("{left_out} older entries")), "{}", note.preface);
        assert!(!matches!(*read[1], EntryContent::Tools(_)));
        assert_eq!(WINDOW.check(&context(read)), None);
        assert_eq!(WINDOW.newest_part(&one), None);
    }

    #[test]
    fn oversized_text_is_cut_with_a_note() {
        let long = format!("begin {} end", "ä".repeat(1_000_000));
        let cut = WINDOW.shorten_entry(&user_message(&long)).unwrap();
        let EntryContent::User(heard) = &cut else { panic!("the user") };
        assert!(
            heard.text.len() < 300_200 && heard.text.starts_with("begin ") && heard.text.ends_with(" end")
        );
        let kept = heard.text.matches('ä').count();
        assert!(
            heard.text.contains(&format!("[{} characters are left out here", 1_000_000 - kept)),
            "{kept}"
        );
        for said in [
            result(&long),
            answer(vec![Block::Text(long.clone())]),
            Arc::new(EntryContent::Summary(long.clone())),
        ] {
            assert!(WINDOW.shorten_entry(&said).is_some_and(|said| said.text().len() < 300_200), "{said:?}");
        }
        assert_eq!(WINDOW.shorten_entry(&user_message(&"x".repeat(300_000))), None);
    }
}
