//! Checks that a request fits into the model's window before it is sent.
//!
//! A server may refuse a request that is too long, cut it silently, or charge for reading it. So a
//! request that is certainly too long is not sent, and the conversation is compacted first. The
//! refusal uses a low token estimate, because a request that would fit must not be refused;
//! replacements are chosen by a high estimate. Reported token counts decide earlier
//! ([`ContextWindow`](crate::compaction::ContextWindow)).

use std::sync::Arc;

use super::Context;
use crate::conversation::{Block, Heard, Said};
use crate::failure::Failure;
use crate::tool::{ToolResult, ToolSpec};

/// An upper bound of the average text bytes per token. English has between four and five, most
/// other text fewer.
const MOST_TEXT_BYTES: usize = 6;

/// A lower bound of the average text bytes per token.
const LEAST_TEXT_BYTES: usize = 3;

/// The number of bytes of an opaque part that count as one byte of text. Most parts are encrypted
/// thinking, which is longer than its text.
const OPAQUE_SHARE: usize = 2;

/// The fewest tokens of a picture.
const PICTURE_TOKENS: usize = 1_000;

/// The most bytes of pictures in one request. Anthropic refuses requests of more than 32 MB.
const PICTURE_BYTES: usize = 28 * 1024 * 1024;

/// The share of the window, in percent, that a compaction reads of a conversation that does not
/// fit.
const READ_PERCENT: usize = 75;

/// The share of the window, in percent, that one text may fill.
const TEXT_PERCENT: usize = 50;

/// The number of tokens that a model reads in one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window(pub u64);

impl Window {
    /// Returns the failure of a request that certainly does not fit.
    pub fn refuses(self, context: &Context) -> Option<Failure> {
        let sizes = context.said.iter().map(|said| Size::of(said));
        let size = sizes.fold(Size::fixed(&context.instructions, &context.tools), Size::and);
        let tokens = size.tokens(MOST_TEXT_BYTES);
        if tokens > self.tokens() {
            let text = format!("at least {tokens} tokens, and it reads {} at once", self.0);
            return Some(Failure::Full(text));
        }
        let megabytes = size.pictures / 1024 / 1024;
        (size.pictures > PICTURE_BYTES).then(|| Failure::Full(format!("{megabytes} MB of pictures")))
    }

    /// Returns the newest part of `said` that a compaction can read, after a note, and the number
    /// of omitted entries; `None` if all of it may fit.
    pub fn newest(self, said: &[Arc<Said>]) -> Option<(Vec<Arc<Said>>, usize)> {
        let all = said.iter().map(|said| Size::of(said)).fold(Size::default(), Size::and);
        if all.tokens(MOST_TEXT_BYTES) <= self.tokens() && all.pictures <= PICTURE_BYTES {
            return None;
        }
        let most = self.tokens() * READ_PERCENT / 100;
        let mut read = Size::default();
        let mut from = said.len();
        for (index, said) in said.iter().enumerate().rev() {
            read = read.and(Size::of(said));
            if read.tokens(LEAST_TEXT_BYTES) > most || read.pictures > PICTURE_BYTES {
                break;
            }
            from = index;
        }
        // A result without its call is invalid.
        let begins = |said: &Arc<Said>| !matches!(**said, Said::Tools(_));
        let from = said[from..].iter().position(begins).map_or(said.len(), |index| from + index);
        let note =
            format!("[{from} older entries are left out here: the conversation is longer than you can read]");
        let note = Arc::new(Said::Human(Heard::note(note)));
        Some((std::iter::once(note).chain(said[from..].iter().cloned()).collect(), from))
    }

    /// Returns `said` with each text cut that alone would fill a large part of the window; `None`
    /// if there is no such text.
    ///
    /// The result depends only on the entry and the window, so that every request contains the same bytes of it.
    pub fn cut(self, said: &Said) -> Option<Said> {
        let most = self.tokens() * TEXT_PERCENT / 100 * LEAST_TEXT_BYTES;
        let cut = |text: &str| if text.len() > most { shortened(text, most) } else { text.to_owned() };
        let is_long = |text: &str| text.len() > most;
        match said {
            Said::Human(heard) if is_long(&heard.text) => {
                Some(Said::Human(Heard { text: cut(&heard.text), ..heard.clone() }))
            }
            Said::Assistant(blocks, reach) => {
                let long = |block: &Block| matches!(block, Block::Text(text) if is_long(text));
                let block = |block: &Block| match block {
                    Block::Text(text) => Block::Text(cut(text)),
                    Block::Call(_) | Block::Opaque(_) => block.clone(),
                };
                let is_cut = blocks.iter().any(long);
                is_cut.then(|| Said::Assistant(blocks.iter().map(block).collect(), *reach))
            }
            Said::Tools(results) if results.iter().any(|result| is_long(&result.text)) => {
                let result = |result: &ToolResult| ToolResult { text: cut(&result.text), ..result.clone() };
                Some(Said::Tools(results.iter().map(result).collect()))
            }
            Said::Summary(text) if is_long(text) => Some(Said::Summary(cut(text))),
            Said::Human(_) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => None,
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
    count: usize,
    pictures: usize,
}

impl Size {
    fn fixed(instructions: &str, tools: &[ToolSpec]) -> Self {
        let tool = |tool: &ToolSpec| tool.name.len() + tool.description.len() + tool.schema.len();
        Self { text: instructions.len() + tools.iter().map(tool).sum::<usize>(), ..Self::default() }
    }

    fn of(said: &Said) -> Self {
        let text = |text: usize| Self { text, ..Self::default() };
        match said {
            Said::Human(heard) => Self {
                text: heard.preface.len() + heard.text.len(),
                opaque: 0,
                count: heard.images.len(),
                pictures: heard.images.iter().map(|image| image.data.len()).sum(),
            },
            Said::Assistant(blocks, _) => blocks.iter().map(Self::of_block).fold(Self::default(), Self::and),
            Said::Tools(results) => text(results.iter().map(|result| result.text.len()).sum()),
            Said::Summary(words) => text(words.len()),
            Said::Recalled(_) => Self::default(),
        }
    }

    fn of_block(block: &Block) -> Self {
        match block {
            Block::Text(text) => Self { text: text.len(), ..Self::default() },
            Block::Call(call) => Self { text: call.name.len() + call.input.0.len(), ..Self::default() },
            Block::Opaque(opaque) => Self { opaque: opaque.json.0.len(), ..Self::default() },
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            text: self.text + other.text,
            opaque: self.opaque + other.opaque,
            count: self.count + other.count,
            pictures: self.pictures + other.pictures,
        }
    }

    fn tokens(self, text_bytes: usize) -> usize {
        (self.text + self.opaque / OPAQUE_SHARE) / text_bytes + self.count * PICTURE_TOKENS
    }
}

/// Returns the beginning and the end of `text` in at most `max_bytes`, with a note between them.
fn shortened(text: &str, most: usize) -> String {
    let start = text.floor_char_boundary(most * 3 / 4);
    let end = text.ceil_char_boundary(text.len() - most / 4);
    let left_out = text[start..end].chars().count();
    let note = format!("\n[{left_out} characters are left out here: the text is longer than you can read]\n");
    format!("{}{note}{}", &text[..start], &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Image, Json, Opaque, Reach, Text};
    use crate::label::Label;
    use crate::tool::{Outcome, ToolCall};

    const WINDOW: Window = Window(200_000);

    fn human(text: &str) -> Arc<Said> {
        Arc::new(Said::Human(Heard { preface: String::new(), text: text.to_owned(), images: Vec::new() }))
    }

    fn result(text: &str) -> Arc<Said> {
        let text = text.to_owned();
        let outcome = Outcome::Done;
        Arc::new(Said::Tools(vec![ToolResult { call: "a".to_owned(), text, outcome, label: Label::PLAIN }]))
    }

    fn answer(blocks: Vec<Block>) -> Arc<Said> {
        Arc::new(Said::Assistant(blocks, Reach::Whole))
    }

    fn call() -> Arc<Said> {
        let id = "a".to_owned();
        let name = "note".to_owned();
        let input = Json("{}".to_owned());
        answer(vec![Block::Call(ToolCall { id, name, input })])
    }

    fn context(said: Vec<Arc<Said>>) -> Context {
        Context {
            branch: crate::conversation::Branch::Main,
            model: None,
            thinking: crate::thinking::Thinking::Off,
            effort: crate::effort::Effort::Low,
            interactive: true,
            tools: Arc::from([]),
            instructions: Arc::from("x".repeat(4_000)),
            said,
            notes: Vec::new(),
            aside: 0,
        }
    }

    #[test]
    fn a_request_that_certainly_does_not_fit_is_refused_before_it_is_sent() {
        let refused = |said| WINDOW.refuses(&context(said)).map(|failure| failure.to_string());
        assert_eq!(refused(vec![human(&"x".repeat(1_196_000))]), None);
        let told = refused(vec![human(&"x".repeat(800_000)), result(&"x".repeat(402_000))]).unwrap();
        assert!(told.contains("at least 201000 tokens, and it reads 200000 at once"), "{told}");
        // Encrypted thinking counts less than its length.
        let opaque = Opaque { origin: String::new(), json: Json("x".repeat(2_300_000)) };
        assert_eq!(refused(vec![answer(vec![Block::Opaque(opaque)])]), None);
    }

    #[test]
    fn pictures_count_by_their_number_and_have_a_bound_of_their_own() {
        let picture = |bytes| Image { media_type: "image/png".to_owned(), data: "x".repeat(bytes) };
        let with = |images| {
            let heard = Heard { preface: String::new(), text: "look".to_owned(), images };
            WINDOW.refuses(&context(vec![Arc::new(Said::Human(heard))]))
        };
        assert_eq!(with(vec![picture(20 * 1024 * 1024)]), None);
        let two = with(vec![picture(20 * 1024 * 1024), picture(20 * 1024 * 1024)]);
        assert_eq!(two, Some(Failure::Full("40 MB of pictures".to_owned())));
    }

    /// A history of 200,000 entries is summarized from its newest part, which does not begin with a
    /// tool result.
    #[test]
    fn a_compaction_of_a_very_long_history_reads_its_newest_part() {
        let one = [
            human(&"x".repeat(120)),
            call(),
            result(&"y".repeat(200)),
            answer(vec![Block::Text("z".repeat(160))]),
        ];
        let said: Vec<Arc<Said>> = one.iter().cycle().take(200_000).cloned().collect();
        assert!(WINDOW.refuses(&context(said.clone())).is_some());
        let (read, left_out) = WINDOW.newest(&said).unwrap();
        assert_eq!(read.len() - 1, 200_000 - left_out);
        let bytes: usize = read.iter().map(|said| said.text().len()).sum();
        assert!((400_000..=450_000).contains(&bytes), "{bytes}");
        let Said::Human(note) = &*read[0] else { panic!("no note") };
        assert!(note.preface.contains(&format!("{left_out} older entries")), "{}", note.preface);
        assert!(!matches!(*read[1], Said::Tools(_)));
        assert_eq!(WINDOW.refuses(&context(read)), None);
        assert_eq!(WINDOW.newest(&one), None);
    }

    #[test]
    fn one_text_that_would_fill_the_window_is_cut_with_a_note() {
        let long = format!("begin {} end", "ä".repeat(1_000_000));
        let cut = WINDOW.cut(&human(&long)).unwrap();
        let Said::Human(heard) = &cut else { panic!("the user") };
        assert!(
            heard.text.len() < 300_200 && heard.text.starts_with("begin ") && heard.text.ends_with(" end")
        );
        let kept = heard.text.matches('ä').count();
        assert!(
            heard.text.contains(&format!("[{} characters are left out here", 1_000_000 - kept)),
            "{kept}"
        );
        for said in
            [result(&long), answer(vec![Block::Text(long.clone())]), Arc::new(Said::Summary(long.clone()))]
        {
            assert!(WINDOW.cut(&said).is_some_and(|said| said.text().len() < 300_200), "{said:?}");
        }
        assert_eq!(WINDOW.cut(&human(&"x".repeat(300_000))), None);
    }
}
