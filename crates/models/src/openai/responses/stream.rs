//! Assembles a reply from the events of a response.
//!
//! Items are taken from `response.output_item.done`, and nothing is returned before the response
//! ended, so a truncated call is never mistaken for a complete one. Events of an unknown type are
//! skipped.

use std::collections::{BTreeMap, BTreeSet};

use domain::context::Context;
use domain::conversation::{Block, Json, Opaque, Usage};
use domain::failure::{DeclineReason, Failure};
use domain::tool::ToolCall;
use domain::turn::{ModelReply, StopReason};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::calls::generate_call_id;
use super::super::refusal;
use super::super::stream::call_ids;
use super::protocol::{DeltaEvent, EndEvent, ItemEvent, OutputItem, Response, Tokens, TypeTag};
use crate::assembly::{
    Delivery, MAX_TOKENS, PART_OVERHEAD_BYTES, ReplyAssembler, StreamUpdate, garbled, json_object,
    parse_event,
};

/// An incomplete reply.
#[derive(Debug, Default)]
pub struct ResponseAssembler {
    /// The origin of its opaque parts.
    origin: String,
    /// Items by their index in the output.
    items: BTreeMap<u64, PartialItem>,
    /// The item whose text was streamed last; texts of two messages are separated by a blank line.
    last_text_item: Option<u64>,
    /// The item whose progress was streamed last.
    progress: Option<u64>,
    ending: Option<Ending>,
    usage: Usage,
    /// The ids of all earlier calls.
    used_call_ids: BTreeSet<String>,
    /// The bytes of all deltas and of all finished items.
    byte_count: ByteCount,
}

/// Byte counts. The text arrives twice, in deltas and in the finished item, so the larger sum
/// counts.
#[derive(Debug, Default)]
struct ByteCount {
    deltas: usize,
    items: usize,
}

#[derive(Debug, Default)]
struct PartialItem {
    is_commentary: bool,
    /// True if it may arrive all at once: reasoning, a tool of the vendor, or a call whose
    /// arguments are not streamed.
    is_unstreamed: bool,
    /// The text so far, used if the response ends before the item does.
    text: String,
    finished_json: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Completed,
    OutOfTokens,
    Filtered,
}

impl ResponseAssembler {
    /// Creates an empty reply to `context` whose opaque parts get `origin`.
    pub fn new(context: &Context, origin: &str) -> Self {
        Self { origin: origin.to_owned(), used_call_ids: call_ids(context), ..Self::default() }
    }

    /// Parses a response that is one JSON body, and returns its text.
    pub fn add_body(&mut self, body: &str) -> Result<String, Failure> {
        let response: Response<'_> = parse_event(body)?;
        if response.status.is_none() && response.output.is_empty() {
            return match response.error.filter(|error| error.get() != "null") {
                Some(error) => Err(refusal::from_event(error.get())),
                None => Err(garbled("it is not an answer to a conversation")),
            };
        }
        self.end_response(&response)?;
        let texts = self.items.values().filter_map(|item| item.finished_json.as_deref());
        let items: Result<Vec<OutputItem>, _> = texts.map(parse_event).collect();
        let text: Vec<_> = items?.iter().filter(|item| !item.is_commentary()).map(OutputItem::text).collect();
        Ok(text.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n"))
    }

    fn text_update(&mut self, event: DeltaEvent) -> StreamUpdate {
        self.byte_count.deltas +=
            PART_OVERHEAD_BYTES * usize::from(!self.items.contains_key(&event.output_index));
        self.byte_count.deltas += event.delta.len();
        let item = self.items.entry(event.output_index).or_default();
        item.text.push_str(&event.delta);
        if event.delta.is_empty() {
            return StreamUpdate::NoText;
        }
        if item.is_commentary {
            return self.progress(event);
        }
        let new_paragraph = self.last_text_item.is_some_and(|last| last != event.output_index);
        self.last_text_item = Some(event.output_index);
        StreamUpdate::Text(if new_paragraph { format!("\n\n{}", event.delta) } else { event.delta })
    }

    fn progress(&mut self, event: DeltaEvent) -> StreamUpdate {
        if event.delta.is_empty() {
            return StreamUpdate::NoText;
        }
        let new_paragraph = self.progress.is_some_and(|last| last != event.output_index);
        self.progress = Some(event.output_index);
        StreamUpdate::Progress(if new_paragraph { format!("\n\n{}", event.delta) } else { event.delta })
    }

    fn start_item(&mut self, event: &ItemEvent<'_>) -> Result<(), Failure> {
        let item: OutputItem = parse_event(event.item.get())?;
        self.byte_count.deltas += PART_OVERHEAD_BYTES;
        let partial = self.items.entry(event.output_index).or_default();
        partial.is_commentary = item.is_commentary();
        partial.is_unstreamed = item.kind != "message";
        Ok(())
    }

    fn finish_item(&mut self, index: u64, item: &RawValue) -> Result<(), Failure> {
        parse_event::<OutputItem>(item.get())?;
        self.byte_count.items += PART_OVERHEAD_BYTES + item.get().len();
        self.items.entry(index).or_default().finished_json = Some(item.get().to_owned());
        Ok(())
    }

    fn end_response(&mut self, response: &Response<'_>) -> Result<(), Failure> {
        if let Some(tokens) = response.usage {
            self.set_usage(tokens);
        }
        let status = response.status.as_deref().unwrap_or("completed");
        if let Some(error) = response.error.filter(|error| error.get() != "null") {
            return Err(refusal::from_event(error.get()));
        }
        let reason = response.incomplete_details.as_ref().and_then(|details| details.reason.as_deref());
        self.ending = Some(match (status, reason) {
            ("failed" | "cancelled", _) => {
                return Err(Failure::VendorError(format!("the response is marked as {status}")));
            }
            (_, Some("content_filter")) => Ending::Filtered,
            ("incomplete", _) => Ending::OutOfTokens,
            _ => Ending::Completed,
        });
        // Servers that do not send items separately include all of them here.
        if self.items.values().all(|item| item.finished_json.is_none()) {
            for (index, item) in (0..).zip(&response.output) {
                self.finish_item(index, item)?;
            }
        }
        Ok(())
    }

    fn set_usage(&mut self, tokens: Tokens) {
        let clamped = |count: Option<u64>| count.unwrap_or_default().min(MAX_TOKENS);
        let cached = clamped(tokens.input_tokens_details.unwrap_or_default().cached_tokens);
        self.usage = Usage {
            input: clamped(tokens.input_tokens).saturating_sub(cached),
            cache_read: cached,
            cache_write: 0,
            cache_write_1h: 0,
            output: clamped(tokens.output_tokens),
        };
    }

    /// Returns the blocks of one finished item, and whether it is a refusal.
    fn item_blocks(
        origin: &str,
        json: String,
        taken: &mut BTreeSet<String>,
    ) -> Result<(Vec<Block>, bool), Failure> {
        let item: OutputItem = parse_event(&json)?;
        let opaque = |json: String| Block::Opaque(Opaque { origin: origin.to_owned(), json: Json(json) });
        match item.kind.as_str() {
            "message" if item.is_commentary() => Ok((vec![opaque(json)], false)),
            "message" => {
                let text = item.text();
                let refused = item.has_refusal();
                let shell = opaque(without_fields(&json, &["content"])?);
                let mut blocks = Vec::new();
                if !text.is_empty() {
                    blocks.extend((!refused).then_some(shell));
                    blocks.push(Block::Text(text));
                }
                Ok((blocks, refused))
            }
            "function_call" => {
                let name = item.name.filter(|name| !name.is_empty());
                let name = name.ok_or_else(|| garbled("a tool call without the name of a tool"))?;
                let input = json_object(item.arguments.unwrap_or_default())?;
                let mut id = item.call_id.unwrap_or_default();
                while id.is_empty() || taken.contains(&id) {
                    id = generate_call_id();
                }
                taken.insert(id.clone());
                let shell = opaque(without_fields(&json, &["call_id", "name", "arguments"])?);
                Ok((vec![shell, Block::Call(ToolCall { id, name, input })], false))
            }
            _ => Ok((vec![opaque(json)], false)),
        }
    }
}

impl ReplyAssembler for ResponseAssembler {
    fn add_event(&mut self, data: &str) -> Result<StreamUpdate, Failure> {
        if data.trim() == "[DONE]" {
            return Ok(if self.ending.is_some() { StreamUpdate::Ended } else { StreamUpdate::NoText });
        }
        match parse_event::<TypeTag<'_>>(data)?.kind.as_ref() {
            "response.output_item.added" => self.start_item(&parse_event(data)?)?,
            "response.output_item.done" => {
                let event: ItemEvent<'_> = parse_event(data)?;
                self.finish_item(event.output_index, event.item)?;
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                return Ok(self.text_update(parse_event(data)?));
            }
            "response.reasoning_summary_text.delta" => return Ok(self.progress(parse_event(data)?)),
            // The parts of a summary are separated by blank lines.
            "response.reasoning_summary_part.added" => {
                let event: DeltaEvent = parse_event(data)?;
                if self.progress == Some(event.output_index) {
                    return Ok(StreamUpdate::Progress("\n\n".to_owned()));
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end_response(&parse_event(parse_event::<EndEvent<'_>>(data)?.response.get())?)?;
                return Ok(StreamUpdate::Ended);
            }
            "error" => return Err(error_event(data)),
            // These only report that the response is in progress. All other unknown events belong
            // to the reply.
            "response.created" | "response.in_progress" | "response.queued" | "keepalive" | "ping" => {
                return Ok(StreamUpdate::KeepAlive);
            }
            _ => {}
        }
        Ok(StreamUpdate::NoText)
    }

    /// Reasoning is not streamed, some servers send the arguments of a call only when they are
    /// complete, and the vendor's own tools take time.
    fn is_working(&self) -> bool {
        self.items.values().next_back().is_some_and(|item| item.is_unstreamed && item.finished_json.is_none())
    }

    fn delivery(&self) -> Delivery {
        if self.last_text_item.is_some() { Delivery::Text } else { Delivery::Nothing }
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn byte_count(&self) -> usize {
        self.byte_count.deltas.max(self.byte_count.items)
    }

    fn finish(self) -> Result<ModelReply, Failure> {
        let Self { origin, items, ending, usage, used_call_ids: mut taken, .. } = self;
        let is_cut = ending == Some(Ending::OutOfTokens);
        let mut blocks = Vec::new();
        let mut declined = ending == Some(Ending::Filtered);
        for item in items.into_values() {
            let Some(json) = item.finished_json else {
                let is_answer = !item.is_commentary && !item.text.is_empty();
                blocks.extend(is_answer.then_some(Block::Text(item.text)));
                continue;
            };
            match Self::item_blocks(&origin, json, &mut taken) {
                Ok((made, refused)) => {
                    blocks.extend(made);
                    declined |= refused;
                }
                // The token limit truncates the arguments of a call; that is not a server error.
                Err(_) if is_cut => {}
                Err(failure) => return Err(failure),
            }
        }
        let calls = blocks.iter().any(|block| matches!(block, Block::Call(_)));
        let stop = match ending {
            _ if declined => StopReason::Refusal(DeclineReason::Unstated),
            Some(Ending::OutOfTokens) => StopReason::Length,
            _ if calls => StopReason::Tools,
            _ => StopReason::Finished,
        };
        Ok(ModelReply { blocks, stop_reason: stop, usage })
    }
}

impl OutputItem {
    /// Returns whether it is a progress note instead of a part of the answer.
    fn is_commentary(&self) -> bool {
        self.phase.as_deref() == Some("commentary")
    }

    fn text(&self) -> String {
        let parts = self.content.iter().flatten();
        parts.filter_map(|part| part.text.as_deref().or(part.refusal.as_deref())).collect()
    }

    fn has_refusal(&self) -> bool {
        self.content.iter().flatten().any(|part| part.refusal.is_some())
    }
}

/// Returns the item `json` without the fields that the next block contains.
fn without_fields(json: &str, fields: &[&str]) -> Result<String, Failure> {
    let mut map: Map<String, Value> = parse_event(json)?;
    map.retain(|name, _| !fields.contains(&name.as_str()));
    Ok(Value::Object(map).to_string())
}

/// Returns the failure for an `error` event. Its fields are in the event itself or in a nested
/// object.
fn error_event(data: &str) -> Failure {
    let mut event: Map<String, Value> = serde_json::from_str(data).unwrap_or_default();
    let inner = event.remove("error").filter(Value::is_object);
    // The event's type is not an error type.
    event.remove("type");
    refusal::from_event(&inner.unwrap_or(Value::Object(event)).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_working_after(events: &[&str]) -> bool {
        let mut stream = ResponseAssembler::default();
        for event in events {
            stream.add_event(event).unwrap();
        }
        stream.is_working()
    }

    /// While a call or reasoning is open, keep-alive events count as activity; in a text they do
    /// not.
    #[test]
    fn open_item_without_streaming_counts_as_working() {
        for (kind, expected) in
            [("function_call", true), ("reasoning", true), ("web_search_call", true), ("message", false)]
        {
            let event = |name: &str| {
                format!(
                    r#"{{"type":"response.output_item.{name}","output_index":0,"item":{{"type":"{kind}","name":"note"}}}}"#
                )
            };
            let added = event("added");
            let done = event("done");
            assert_eq!(is_working_after(&[&added]), expected, "{kind}");
            assert!(!is_working_after(&[&added, &done]), "{kind}");
        }
    }
}
