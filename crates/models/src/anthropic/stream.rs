//! Assembles a reply from the events of its stream.
//!
//! Nothing is returned before the stream reports the end of the message, so a truncated call is
//! never mistaken for a complete one. Events and deltas of an unknown type are skipped; blocks of
//! an unknown type are stored unchanged.

use std::collections::BTreeMap;

use domain::conversation::{Block, Opaque, Usage};
use domain::failure::{Declined, Failure};
use domain::tool::ToolCall;
use domain::turn::{Reply, Stop};
use serde_json::value::RawValue;

use super::refusal;
use super::wire::{
    BlockDelta, BlockStart, BlockStop, Delta, MessageDelta, MessageStart, Problem, Tagged, TextStart,
    Thinking, ThinkingStart, Tokens, ToolUseStart,
};
use crate::assembly::{Assembly, Heard, MOST_TOKENS, News, PART_BYTES, distinct, garbled, json_object, read};

/// The vendor's text in a thinking block for work that `max_tokens` cut off.
const INTERRUPTED: &str = "This part of the response was interrupted before it finished.";

/// An incomplete reply.
#[derive(Debug, Default)]
pub struct Message {
    /// True if text in thinking blocks is a progress note for the user.
    shows_progress: bool,
    /// The category of a refusal.
    declined: Declined,
    parts: BTreeMap<u64, Part>,
    words: Words,
    stop: Option<Stop>,
    usage: Usage,
    /// The bytes of all blocks.
    held: usize,
}

#[derive(Debug)]
struct Part {
    what: What,
    ended: bool,
}

#[derive(Debug)]
enum What {
    Text(String),
    Thinking { thinking: String, signature: String },
    Call { id: String, name: String, input: String },
    Unknown { start: String, input: String },
}

/// The block that was streamed last; text of two blocks is separated by a blank line.
#[derive(Clone, Copy, Debug, Default)]
enum Words {
    #[default]
    None,
    Of(u64),
}

impl Assembly for Message {
    fn take(&mut self, data: &str) -> Result<News, Failure> {
        match read::<Tagged<'_>>(data)?.kind.as_ref() {
            "message_start" => self.count(read::<MessageStart>(data)?.message.usage),
            "content_block_start" => return self.start(&read(data)?),
            "content_block_delta" => return self.grow(read(data)?),
            "content_block_stop" => self.part(read::<BlockStop>(data)?.index)?.ended = true,
            "message_delta" => self.conclude(read(data)?),
            "message_stop" => return Ok(News::Ended),
            "error" => return Err(refusal::from_event(read::<Problem>(data)?.error)),
            // Includes `ping`.
            _ => return Ok(News::KeepAlive),
        }
        Ok(News::Quiet)
    }

    /// Thinking is streamed only if the request asks for it, the input of a call arrives in whole
    /// fields, and the vendor's own tools take time.
    fn is_working(&self) -> bool {
        let last = self.parts.values().next_back();
        last.is_some_and(|part| match part.what {
            What::Thinking { .. } | What::Call { .. } => !part.ended,
            // The result of a server tool follows in a separate block.
            What::Unknown { .. } => true,
            What::Text(_) => false,
        })
    }

    fn heard(&self) -> Heard {
        match self.words {
            Words::None => Heard::Nothing,
            Words::Of(_) => Heard::Words,
        }
    }

    fn used(&self) -> Usage {
        self.usage
    }

    fn held(&self) -> usize {
        self.held
    }

    fn finish(self) -> Result<Reply, Failure> {
        let stop = self.stop.ok_or_else(|| garbled("the message ended without a reason"))?;
        if self.parts.values().any(|part| !part.ended) {
            return Err(garbled("the message ended before its parts did"));
        }
        let mut blocks = Vec::new();
        for part in self.parts.into_values() {
            match (part.what.block(), stop) {
                (Ok(block), _) => blocks.extend(block),
                // The length limit truncates the input of a call; that is not a protocol error.
                (Err(_), Stop::Length) => {}
                (Err(failure), Stop::Said | Stop::Tools | Stop::Refusal(_)) => return Err(failure),
            }
        }
        distinct(&blocks)?;
        Ok(Reply { blocks, stop, usage: self.usage })
    }
}

impl Message {
    /// Creates an empty reply. `shows_progress` is whether the request asked for progress notes.
    pub fn new(shows_progress: bool) -> Self {
        Self { shows_progress, ..Self::default() }
    }

    fn start(&mut self, event: &BlockStart<'_>) -> Result<News, Failure> {
        let block = event.content_block.get();
        let (what, words) = match read::<Tagged<'_>>(block)?.kind.as_ref() {
            "text" => (What::Text(String::new()), read::<TextStart>(block)?.text),
            "thinking" => {
                let ThinkingStart { thinking, signature } = read(block)?;
                (What::Thinking { thinking, signature }, String::new())
            }
            "tool_use" => {
                let ToolUseStart { id, name, input } = read(block)?;
                let input =
                    input.map(RawValue::get).filter(|input| given(input)).unwrap_or_default().to_owned();
                (What::Call { id, name, input }, String::new())
            }
            _ => (What::Unknown { start: block.to_owned(), input: String::new() }, String::new()),
        };
        self.held += PART_BYTES + block.len();
        let starts_note = self.shows_progress && matches!(what, What::Thinking { .. });
        if self.parts.insert(event.index, Part { what, ended: false }).is_some() {
            return Err(garbled("two parts have one number"));
        }
        if starts_note {
            return Ok(News::Progress(String::new()));
        }
        self.grow(BlockDelta { index: event.index, delta: Delta::Text { text: words } })
    }

    fn grow(&mut self, BlockDelta { index, delta }: BlockDelta) -> Result<News, Failure> {
        let shows_progress = self.shows_progress;
        self.held += delta.len();
        let part = self.part(index)?;
        if part.ended {
            return Err(garbled("a part went on after its end"));
        }
        match (&mut part.what, delta) {
            (What::Text(text), Delta::Text { text: more }) => {
                text.push_str(&more);
                return Ok(self.hear(index, more));
            }
            (What::Thinking { thinking, .. }, Delta::Thinking { thinking: more }) => {
                // The vendor's text may arrive in several deltas.
                let held_back = INTERRUPTED.starts_with(thinking.as_str());
                thinking.push_str(&more);
                let is_mark = INTERRUPTED.starts_with(thinking.as_str());
                if shows_progress && !more.is_empty() && !is_mark {
                    return Ok(News::Progress(if held_back { thinking.clone() } else { more }));
                }
            }
            (What::Thinking { signature, .. }, Delta::Signature { signature: more }) => {
                signature.push_str(&more);
            }
            (What::Call { input, .. } | What::Unknown { input, .. }, Delta::InputJson { partial_json }) => {
                input.push_str(&partial_json);
            }
            (What::Text(_) | What::Thinking { .. } | What::Call { .. } | What::Unknown { .. }, _) => {}
        }
        Ok(News::Quiet)
    }

    fn hear(&mut self, index: u64, more: String) -> News {
        if more.is_empty() {
            return News::Quiet;
        }
        match std::mem::replace(&mut self.words, Words::Of(index)) {
            Words::Of(before) if before != index => News::Words(format!("\n\n{more}")),
            Words::Of(_) | Words::None => News::Words(more),
        }
    }

    fn conclude(&mut self, event: MessageDelta) {
        self.count(event.usage);
        if let Some(category) = event.delta.stop_details.and_then(|details| details.category) {
            self.declined = declined(&category);
        }
        if let Some(reason) = event.delta.stop_reason {
            self.stop = Some(stop(&reason, self.declined));
        }
    }

    fn count(&mut self, tokens: Option<Tokens>) {
        let tokens = tokens.unwrap_or_default();
        let counts = [
            (&mut self.usage.input, tokens.input_tokens),
            (&mut self.usage.cache_read, tokens.cache_read_input_tokens),
            (&mut self.usage.cache_write, tokens.cache_creation_input_tokens),
            (
                &mut self.usage.cache_write_1h,
                tokens.cache_creation.and_then(|creation| creation.ephemeral_1h_input_tokens),
            ),
            (&mut self.usage.output, tokens.output_tokens),
        ];
        for (count, said) in counts {
            *count = said.unwrap_or(*count).min(MOST_TOKENS);
        }
    }

    fn part(&mut self, index: u64) -> Result<&mut Part, Failure> {
        self.parts.get_mut(&index).ok_or_else(|| garbled("a part goes on that never began"))
    }
}

impl What {
    fn block(self) -> Result<Option<Block>, Failure> {
        let block = match self {
            Self::Text(text) if text.is_empty() => return Ok(None),
            Self::Text(text) => Block::Text(text),
            Self::Thinking { thinking, signature } => {
                let whole = Thinking { thinking: &thinking, signature: &signature };
                Block::Opaque(Opaque::anthropic(
                    serde_json::to_string(&whole).map_err(|error| garbled(&error.to_string()))?,
                ))
            }
            Self::Call { id, name, input } => Block::Call(ToolCall { id, name, input: json_object(input)? }),
            Self::Unknown { start, input } if input.is_empty() => Block::Opaque(Opaque::anthropic(start)),
            Self::Unknown { start, input } => Block::Opaque(Opaque::anthropic(with_input(&start, input)?)),
        };
        Ok(Some(block))
    }
}

/// Returns whether the input at the start of a block has content. A call with an empty input
/// receives it later in deltas.
fn given(input: &str) -> bool {
    input.bytes().any(|byte| !b"{} \t\r\n".contains(&byte))
}

fn with_input(start: &str, input: String) -> Result<String, Failure> {
    let mut block: BTreeMap<&str, Box<RawValue>> = read(start)?;
    block.insert("input", RawValue::from_string(input).map_err(|_| garbled("a part is no JSON"))?);
    serde_json::to_string(&block).map_err(|error| garbled(&error.to_string()))
}

fn declined(category: &str) -> Declined {
    match category {
        "cyber" => Declined::Cyber,
        "bio" => Declined::Biology,
        "frontier_llm" => Declined::AiDevelopment,
        "reasoning_extraction" => Declined::ReasoningExtraction,
        "general_harms" => Declined::GeneralHarms,
        _ => Declined::Unstated,
    }
}

fn stop(reason: &str, declined: Declined) -> Stop {
    match reason {
        "tool_use" => Stop::Tools,
        "max_tokens" | "model_context_window_exceeded" => Stop::Length,
        "refusal" => Stop::Refusal(declined),
        _ => Stop::Said,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    const TEXT: &str = r#"content_block_start 0 {"content_block":{"type":"text","text":"Hi"}}"#;
    const STOP: &str = r#"message_delta - {"delta":{"stop_reason":"end_turn"}}"#;

    /// Compares the result of a stream, given as one `kind index fields` line per event.
    fn check(lines: &[&str], expected: Expect) {
        let told = match told(lines) {
            Ok(reply) => format!("{:?} {:?}", reply.stop, reply.blocks),
            Err(failure) => format!("{failure:?}"),
        };
        expected.assert_eq(&told);
    }

    fn told(lines: &[&str]) -> Result<Reply, Failure> {
        let mut assembly = Message::default();
        for line in lines {
            let mut parts = line.splitn(3, ' ');
            let kind = parts.next().unwrap();
            let index = parts.next().unwrap_or("-");
            let mut event: serde_json::Value = parts.next().unwrap_or("{}").parse().unwrap();
            event["type"] = kind.into();
            if let Ok(index) = index.parse::<u64>() {
                event["index"] = index.into();
            }
            assembly.take(&event.to_string())?;
        }
        assembly.finish()
    }

    #[test]
    fn a_stream_in_a_new_dialect_is_still_understood() {
        check(
            &[
                "message_start - {\"message\":{}}",
                "hello_from_the_future - {\"x\":1}",
                TEXT,
                r#"content_block_delta 0 {"delta":{"type":"citations_delta","citation":{"url":"u"}}}"#,
                r#"content_block_delta 0 {"delta":{"type":"text_delta","text":"!"}}"#,
                r#"content_block_delta 0 {"delta":{"type":"sparkle_delta","sparkle":9}}"#,
                "content_block_stop 0",
                r#"content_block_start 1 {"content_block":{"type":"server_tool_use","id":"s","input":{}}}"#,
                r#"content_block_delta 1 {"delta":{"type":"input_json_delta","partial_json":"{\"q\": 1}"}}"#,
                "content_block_stop 1",
                r#"content_block_start 2 {"content_block":{"type":"tool_use","id":"c","name":"n","input":{"a":1}}}"#,
                "content_block_stop 2",
                r#"message_delta - {"delta":{"stop_reason":"a_new_reason"},"usage":{"output_tokens":3}}"#,
            ],
            expect![[
                r#"Said [Text("Hi!"), Opaque(Opaque { origin: "anthropic", json: Json("{\"id\":\"s\",\"input\":{\"q\": 1},\"type\":\"server_tool_use\"}") }), Call(ToolCall { id: "c", name: "n", input: Json("{\"a\":1}") })]"#
            ]],
        );
    }

    /// ST-2, ST-4: a block starts once, ends once, and receives nothing after its end.
    #[test]
    fn a_stream_that_contradicts_itself_is_not_believed() {
        let stop = "content_block_stop 0";
        let call = |index| {
            format!(
                r#"content_block_start {index} {{"content_block":{{"type":"tool_use","id":"c","name":"n"}}}}"#
            )
        };
        check(&[TEXT, stop], expect![[r#"Garbled("the message ended without a reason")"#]]);
        check(&[TEXT, STOP], expect![[r#"Garbled("the message ended before its parts did")"#]]);
        check(&[TEXT, TEXT], expect![[r#"Garbled("two parts have one number")"#]]);
        check(
            &[TEXT, stop, r#"content_block_delta 0 {"delta":{"type":"text_delta","text":"!"}}"#],
            expect![[r#"Garbled("a part went on after its end")"#]],
        );
        check(&["content_block_stop 7"], expect![[r#"Garbled("a part goes on that never began")"#]]);
        check(
            &["content_block_stop - {\"index\":-1}"],
            expect![[r#"Garbled("an event that is not in its language")"#]],
        );
        check(
            &[&call(0), stop, &call(1), "content_block_stop 1", STOP],
            expect![[r#"Garbled("two tool calls have one name")"#]],
        );
        check(
            &["message_start - {\"message\":{\"usage\":{\"input_tokens\":\"many\"}}}"],
            expect![[r#"Garbled("an event that is not in its language")"#]],
        );
    }

    #[test]
    fn cache_writes_of_one_hour_are_counted_apart() {
        let start = r#"message_start - {"message":{"usage":{"cache_creation_input_tokens":300,
            "cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200}}}}"#;
        let usage = told(&[start, STOP]).unwrap().usage;
        assert_eq!((usage.cache_write, usage.cache_write_1h), (300, 200));
    }

    #[test]
    fn a_count_that_cannot_be_is_not_believed() {
        let many = r#"message_start - {"message":{"usage":{"input_tokens":18446744073709551615}}}"#;
        assert_eq!(told(&[many, STOP]).unwrap().usage.input, MOST_TOKENS);
    }
}
