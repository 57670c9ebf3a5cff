//! Assembles a reply from the events of its stream.
//!
//! Nothing is returned before the stream reports the end of the message, so a truncated call is
//! never mistaken for a complete one. Events and deltas of an unknown type are skipped; blocks of
//! an unknown type are stored unchanged.

use std::collections::BTreeMap;

use domain::conversation::{Block, Opaque, Usage};
use domain::failure::{DeclineReason, Failure};
use domain::tool::ToolCall;
use domain::turn::{ModelReply, StopReason};
use serde_json::value::RawValue;

use super::protocol::{
    BlockDelta, BlockStart, BlockStop, Delta, ErrorBody, MessageDelta, MessageStart, TextStart,
    ThinkingBlock, ThinkingStart, Tokens, ToolUseStart, TypeTag,
};
use super::refusal;
use crate::assembly::{
    Delivery, MAX_TOKENS, PART_OVERHEAD_BYTES, ReplyAssembler, StreamUpdate, check_unique_call_ids, garbled,
    json_object, parse_event,
};

/// The vendor's text in a thinking block for work that `max_tokens` cut off.
const INTERRUPTED: &str = "This part of the response was interrupted before it finished.";

/// An incomplete reply.
#[derive(Debug, Default)]
pub struct MessageAssembler {
    /// True if text in thinking blocks is a progress note for the user.
    shows_progress: bool,
    /// The category of a refusal.
    declined: DeclineReason,
    blocks: BTreeMap<u64, PartialBlock>,
    last_text: LastText,
    stop: Option<StopReason>,
    usage: Usage,
    /// The bytes of all blocks.
    byte_count: usize,
}

#[derive(Debug)]
struct PartialBlock {
    content: BlockContent,
    ended: bool,
}

#[derive(Debug)]
enum BlockContent {
    Text(String),
    Thinking { thinking: String, signature: String },
    Call { id: String, name: String, input: String },
    Unknown { start: String, input: String },
}

/// The block that was streamed last; text of two blocks is separated by a blank line.
#[derive(Clone, Copy, Debug, Default)]
enum LastText {
    #[default]
    None,
    Block(u64),
}

impl ReplyAssembler for MessageAssembler {
    fn add_event(&mut self, data: &str) -> Result<StreamUpdate, Failure> {
        match parse_event::<TypeTag<'_>>(data)?.kind.as_ref() {
            "message_start" => self.update_usage(parse_event::<MessageStart>(data)?.message.usage),
            "content_block_start" => return self.start_block(&parse_event(data)?),
            "content_block_delta" => return self.apply_delta(parse_event(data)?),
            "content_block_stop" => self.block_mut(parse_event::<BlockStop>(data)?.index)?.ended = true,
            "message_delta" => self.apply_message_delta(parse_event(data)?),
            "message_stop" => return Ok(StreamUpdate::Ended),
            "error" => return Err(refusal::from_event(parse_event::<ErrorBody>(data)?.error)),
            // Includes `ping`.
            _ => return Ok(StreamUpdate::KeepAlive),
        }
        Ok(StreamUpdate::NoText)
    }

    /// Thinking is streamed only if the request asks for it, the input of a call arrives in whole
    /// fields, and the vendor's own tools take time.
    fn is_working(&self) -> bool {
        let last = self.blocks.values().next_back();
        last.is_some_and(|part| match part.content {
            BlockContent::Thinking { .. } | BlockContent::Call { .. } => !part.ended,
            // The result of a server tool follows in a separate block.
            BlockContent::Unknown { .. } => true,
            BlockContent::Text(_) => false,
        })
    }

    fn delivery(&self) -> Delivery {
        match self.last_text {
            LastText::None => Delivery::Nothing,
            LastText::Block(_) => Delivery::Text,
        }
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn byte_count(&self) -> usize {
        self.byte_count
    }

    fn finish(self) -> Result<ModelReply, Failure> {
        let stop = self.stop.ok_or_else(|| garbled("the message ended without a reason"))?;
        if self.blocks.values().any(|part| !part.ended) {
            return Err(garbled("the message ended before its parts did"));
        }
        let mut blocks = Vec::new();
        for part in self.blocks.into_values() {
            match (part.content.into_block(), stop) {
                (Ok(block), _) => blocks.extend(block),
                // The length limit truncates the input of a call; that is not a protocol error.
                (Err(_), StopReason::Length) => {}
                (Err(failure), StopReason::Finished | StopReason::Tools | StopReason::Refusal(_)) => {
                    return Err(failure);
                }
            }
        }
        check_unique_call_ids(&blocks)?;
        Ok(ModelReply { blocks, stop_reason: stop, usage: self.usage })
    }
}

impl MessageAssembler {
    /// Creates an empty reply. `shows_progress` is whether the request asked for progress notes.
    pub fn new(shows_progress: bool) -> Self {
        Self { shows_progress, ..Self::default() }
    }

    fn start_block(&mut self, event: &BlockStart<'_>) -> Result<StreamUpdate, Failure> {
        let block = event.content_block.get();
        let (content, text) = match parse_event::<TypeTag<'_>>(block)?.kind.as_ref() {
            "text" => (BlockContent::Text(String::new()), parse_event::<TextStart>(block)?.text),
            "thinking" => {
                let ThinkingStart { thinking, signature } = parse_event(block)?;
                (BlockContent::Thinking { thinking, signature }, String::new())
            }
            "tool_use" => {
                let ToolUseStart { id, name, input } = parse_event(block)?;
                let input = input
                    .map(RawValue::get)
                    .filter(|input| has_content(input))
                    .unwrap_or_default()
                    .to_owned();
                (BlockContent::Call { id, name, input }, String::new())
            }
            _ => (BlockContent::Unknown { start: block.to_owned(), input: String::new() }, String::new()),
        };
        self.byte_count += PART_OVERHEAD_BYTES + block.len();
        let starts_note = self.shows_progress && matches!(content, BlockContent::Thinking { .. });
        if self.blocks.insert(event.index, PartialBlock { content, ended: false }).is_some() {
            return Err(garbled("two parts have one number"));
        }
        if starts_note {
            return Ok(StreamUpdate::Progress(String::new()));
        }
        self.apply_delta(BlockDelta { index: event.index, delta: Delta::Text { text } })
    }

    fn apply_delta(&mut self, BlockDelta { index, delta }: BlockDelta) -> Result<StreamUpdate, Failure> {
        let shows_progress = self.shows_progress;
        self.byte_count += delta.len();
        let part = self.block_mut(index)?;
        if part.ended {
            return Err(garbled("a part went on after its end"));
        }
        match (&mut part.content, delta) {
            (BlockContent::Text(text), Delta::Text { text: more }) => {
                text.push_str(&more);
                return Ok(self.stream_text(index, more));
            }
            (BlockContent::Thinking { thinking, .. }, Delta::Thinking { thinking: more }) => {
                // The vendor's text may arrive in several deltas.
                let held_back = INTERRUPTED.starts_with(thinking.as_str());
                thinking.push_str(&more);
                let is_mark = INTERRUPTED.starts_with(thinking.as_str());
                if shows_progress && !more.is_empty() && !is_mark {
                    return Ok(StreamUpdate::Progress(if held_back { thinking.clone() } else { more }));
                }
            }
            (BlockContent::Thinking { signature, .. }, Delta::Signature { signature: more }) => {
                signature.push_str(&more);
            }
            (
                BlockContent::Call { input, .. } | BlockContent::Unknown { input, .. },
                Delta::InputJson { partial_json },
            ) => {
                input.push_str(&partial_json);
            }
            (
                BlockContent::Text(_)
                | BlockContent::Thinking { .. }
                | BlockContent::Call { .. }
                | BlockContent::Unknown { .. },
                _,
            ) => {}
        }
        Ok(StreamUpdate::NoText)
    }

    fn stream_text(&mut self, index: u64, more: String) -> StreamUpdate {
        if more.is_empty() {
            return StreamUpdate::NoText;
        }
        match std::mem::replace(&mut self.last_text, LastText::Block(index)) {
            LastText::Block(before) if before != index => StreamUpdate::Text(format!("\n\n{more}")),
            LastText::Block(_) | LastText::None => StreamUpdate::Text(more),
        }
    }

    fn apply_message_delta(&mut self, event: MessageDelta) {
        self.update_usage(event.usage);
        if let Some(category) = event.delta.stop_details.and_then(|details| details.category) {
            self.declined = decline_category(&category);
        }
        if let Some(reason) = event.delta.stop_reason {
            self.stop = Some(parse_stop_reason(&reason, self.declined));
        }
    }

    fn update_usage(&mut self, tokens: Option<Tokens>) {
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
        for (count, reported) in counts {
            *count = reported.unwrap_or(*count).min(MAX_TOKENS);
        }
    }

    fn block_mut(&mut self, index: u64) -> Result<&mut PartialBlock, Failure> {
        self.blocks.get_mut(&index).ok_or_else(|| garbled("a part goes on that never began"))
    }
}

impl BlockContent {
    fn into_block(self) -> Result<Option<Block>, Failure> {
        let block = match self {
            Self::Text(text) if text.is_empty() => return Ok(None),
            Self::Text(text) => Block::Text(text),
            Self::Thinking { thinking, signature } => {
                let whole = ThinkingBlock { thinking: &thinking, signature: &signature };
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
fn has_content(input: &str) -> bool {
    input.bytes().any(|byte| !b"{} \t\r\n".contains(&byte))
}

fn with_input(start: &str, input: String) -> Result<String, Failure> {
    let mut block: BTreeMap<&str, Box<RawValue>> = parse_event(start)?;
    block.insert("input", RawValue::from_string(input).map_err(|_| garbled("a part is no JSON"))?);
    serde_json::to_string(&block).map_err(|error| garbled(&error.to_string()))
}

fn decline_category(category: &str) -> DeclineReason {
    match category {
        "cyber" => DeclineReason::Cyber,
        "bio" => DeclineReason::Biology,
        "frontier_llm" => DeclineReason::AiDevelopment,
        "reasoning_extraction" => DeclineReason::ReasoningExtraction,
        "general_harms" => DeclineReason::GeneralHarms,
        _ => DeclineReason::Unstated,
    }
}

fn parse_stop_reason(reason: &str, declined: DeclineReason) -> StopReason {
    match reason {
        "tool_use" => StopReason::Tools,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => StopReason::Refusal(declined),
        _ => StopReason::Finished,
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
        let actual = match assemble(lines) {
            Ok(reply) => format!("{:?} {:?}", reply.stop_reason, reply.blocks),
            Err(failure) => format!("{failure:?}"),
        };
        expected.assert_eq(&actual);
    }

    fn assemble(lines: &[&str]) -> Result<ModelReply, Failure> {
        let mut assembly = MessageAssembler::default();
        for line in lines {
            let mut parts = line.splitn(3, ' ');
            let kind = parts.next().unwrap();
            let index = parts.next().unwrap_or("-");
            let mut event: serde_json::Value = parts.next().unwrap_or("{}").parse().unwrap();
            event["type"] = kind.into();
            if let Ok(index) = index.parse::<u64>() {
                event["index"] = index.into();
            }
            assembly.add_event(&event.to_string())?;
        }
        assembly.finish()
    }

    #[test]
    fn unknown_events_and_blocks_are_tolerated() {
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
                r#"Finished [Text("Hi!"), Opaque(Opaque { origin: "anthropic", json: Json("{\"id\":\"s\",\"input\":{\"q\": 1},\"type\":\"server_tool_use\"}") }), Call(ToolCall { id: "c", name: "n", input: Json("{\"a\":1}") })]"#
            ]],
        );
    }

    /// ST-2, ST-4: a block starts once, ends once, and receives nothing after its end.
    #[test]
    fn contradictory_stream_is_rejected() {
        let stop = "content_block_stop 0";
        let call = |index| {
            format!(
                r#"content_block_start {index} {{"content_block":{{"type":"tool_use","id":"c","name":"n"}}}}"#
            )
        };
        check(&[TEXT, stop], expect![[r#"InvalidResponse("the message ended without a reason")"#]]);
        check(&[TEXT, STOP], expect![[r#"InvalidResponse("the message ended before its parts did")"#]]);
        check(&[TEXT, TEXT], expect![[r#"InvalidResponse("two parts have one number")"#]]);
        check(
            &[TEXT, stop, r#"content_block_delta 0 {"delta":{"type":"text_delta","text":"!"}}"#],
            expect![[r#"InvalidResponse("a part went on after its end")"#]],
        );
        check(&["content_block_stop 7"], expect![[r#"InvalidResponse("a part goes on that never began")"#]]);
        check(
            &["content_block_stop - {\"index\":-1}"],
            expect![[r#"InvalidResponse("an event that is not in its language")"#]],
        );
        check(
            &[&call(0), stop, &call(1), "content_block_stop 1", STOP],
            expect![[r#"InvalidResponse("two tool calls have one name")"#]],
        );
        check(
            &["message_start - {\"message\":{\"usage\":{\"input_tokens\":\"many\"}}}"],
            expect![[r#"InvalidResponse("an event that is not in its language")"#]],
        );
    }

    #[test]
    fn cache_writes_of_one_hour_are_counted_separately() {
        let start = r#"message_start - {"message":{"usage":{"cache_creation_input_tokens":300,
            "cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200}}}}"#;
        let usage = assemble(&[start, STOP]).unwrap().usage;
        assert_eq!((usage.cache_write, usage.cache_write_1h), (300, 200));
    }

    #[test]
    fn impossible_token_count_is_clamped() {
        let many = r#"message_start - {"message":{"usage":{"input_tokens":18446744073709551615}}}"#;
        assert_eq!(assemble(&[many, STOP]).unwrap().usage.input, MAX_TOKENS);
    }
}
