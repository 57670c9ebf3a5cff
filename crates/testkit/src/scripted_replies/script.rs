//! Scripts in JSON, for the command-line servers.

use serde::Deserialize;
use serde_json::Value;

use super::reply::{ErrorReply, ReplyFault, ReplyPiece, ScriptedReply, SearchOutcome, WebPage};

/// The help text about the format.
pub const SCRIPT_FORMAT: &str = r#"A script is a JSON list of acts, one to a request; after the last one the server echoes.

  {"say": "words"}                                  an answer of these words
  {"blocks": [BLOCK, ...], "stop": "end_turn"}      an answer of blocks; "stop" may be left out
  {"blocks": [BLOCK, ...], "declines": "cyber"}     a refusal by the model, with its category

A BLOCK is one of:
  {"text": "words"}
  {"thinking": "thoughts", "signature": "proof"}    an empty signature is replaced by a valid one
  {"note": "words"}                                 a note to the user between tool calls
  {"tool": "name", "input": {...}}
  {"raw": {"type": ..., ...}}                       any block, sent whole
  {"search": "query", "pages": [PAGE, ...]}         a web search by the server, if the request has that tool
  {"search": "query", "error": "too_many_requests"} one that fails; without "error" and "pages" the turn pauses
  {"cited": "words", "page": PAGE}                  words that cite a page

A PAGE is {"title": "T", "url": "https://a.org/", "words": "words on it"}.

An act may have a "fault"; "at" counts events from 0:
  {"kind": "rate_limited", "seconds": 30}           429 with retry-after
  {"kind": "spend_limited"}                         429 without it
  {"kind": "overloaded"}                            529
  {"kind": "broken"}                                500
  {"kind": "refuse", "status": 400, "error": "invalid_request_error", "message": "no"}
  {"kind": "html"}                                  a page for people instead of an answer
  {"kind": "stall", "at": 3}                        silence from here on
  {"kind": "cut", "at": 3}                          the connection breaks
  {"kind": "end", "at": 3}                          the stream ends early
  {"kind": "error", "at": 3, "error": "overloaded_error"}
  {"kind": "garbage", "at": 3}                      bytes that are no events
  {"kind": "bad_json", "at": 3}                     an event whose data is no JSON

Without a script, `call NAME {"input": 1}` in your words calls a tool, and everything else comes back."#;

#[derive(Debug, thiserror::Error)]
#[error("the script is not a list of acts: {0}; see --help")]
pub struct ScriptError(#[from] serde_json::Error);

/// Parses the script `text` into replies.
pub fn parse(text: &str) -> Result<Vec<ScriptedReply>, ScriptError> {
    let replies: Vec<ScriptEntry> = serde_json::from_str(text)?;
    Ok(replies.into_iter().map(ScriptEntry::into_reply).collect())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptEntry {
    say: Option<String>,
    #[serde(default)]
    blocks: Vec<ScriptBlock>,
    stop: Option<String>,
    declines: Option<String>,
    fault: Option<ScriptFault>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum ScriptBlock {
    Text { text: String },
    Thinking { thinking: String, signature: String },
    Note { note: String },
    Tool { tool: String, input: Value },
    Raw { raw: Value },
    Search { search: String, pages: Option<Vec<WebPage>>, error: Option<String> },
    Cited { cited: String, page: WebPage },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum ScriptFault {
    RateLimited { seconds: u64 },
    SpendLimited {},
    Overloaded {},
    Broken {},
    Refuse { status: u16, error: String, message: String },
    Html {},
    Stall { at: usize },
    Cut { at: usize },
    End { at: usize },
    Error { at: usize, error: String },
    Garbage { at: usize },
    BadJson { at: usize },
}

impl ScriptEntry {
    fn into_reply(self) -> ScriptedReply {
        let text = self.say.map(ReplyPiece::Text);
        let pieces = text.into_iter().chain(self.blocks.into_iter().map(ScriptBlock::into_piece));
        let mut reply = pieces.fold(ScriptedReply::empty(), ScriptedReply::with_piece);
        reply.stop = self.stop;
        if let Some(category) = self.declines {
            reply = reply.with_model_refusal(Some(&category));
        }
        if let Some(fault) = self.fault.map(ScriptFault::into_reply) {
            reply.details = fault.details.or(reply.details);
            reply.fault = fault.fault;
        }
        reply
    }
}

impl ScriptBlock {
    fn into_piece(self) -> ReplyPiece {
        match self {
            Self::Text { text } => ReplyPiece::Text(text),
            Self::Thinking { thinking, signature } => ReplyPiece::Thinking { thinking, signature },
            Self::Note { note } => ReplyPiece::Note(note),
            Self::Tool { tool, input } => ReplyPiece::Call { name: tool, input: input.to_string() },
            Self::Raw { raw } => ReplyPiece::Raw(raw),
            Self::Search { search: query, pages, error } => {
                let outcome = match (pages, error) {
                    (_, Some(code)) => SearchOutcome::Error(code),
                    (Some(pages), None) => SearchOutcome::Pages(pages),
                    (None, None) => SearchOutcome::Pending,
                };
                ReplyPiece::Search { query, outcome }
            }
            Self::Cited { cited: text, page } => ReplyPiece::Citation { text, page },
        }
    }
}

impl ScriptFault {
    /// Returns a reply with only this fault.
    fn into_reply(self) -> ScriptedReply {
        let fault = match self {
            Self::RateLimited { seconds } => return ScriptedReply::rate_limited(seconds),
            Self::SpendLimited {} => return ScriptedReply::spend_limited(),
            Self::Overloaded {} => return ScriptedReply::overloaded(),
            Self::Broken {} => return ScriptedReply::server_error(),
            Self::Refuse { status, error: kind, message } => {
                ReplyFault::Refuse(ErrorReply { status, kind, message, retry_after: None })
            }
            Self::Html {} => ReplyFault::Html,
            Self::Stall { at } => ReplyFault::Stall(at),
            Self::Cut { at } => ReplyFault::Cut(at),
            Self::End { at } => ReplyFault::End(at),
            Self::Error { at, error } => ReplyFault::Error(at, error),
            Self::Garbage { at } => ReplyFault::Garbage(at),
            Self::BadJson { at } => ReplyFault::BadJson(at),
        };
        ScriptedReply::empty().with_fault(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"{"title": "T", "url": "https://a.org/"}}"#;

    #[test]
    fn every_example_of_the_help_can_be_parsed() {
        let objects = SCRIPT_FORMAT.lines().map(str::trim).filter(|line| line.starts_with('{'));
        let mut read = 0;
        for line in objects {
            let line = line
                .replace("[BLOCK, ...]", "[]")
                .replace("[PAGE, ...]", "[]")
                .replace("PAGE}", PAGE)
                .replace("{...}", "{}")
                .replace("..., ...", "\"x\"");
            let object =
                serde_json::Deserializer::from_str(&line).into_iter::<Value>().next().unwrap().unwrap();
            let is = |key: &str| object.get(key).is_some();
            let reply = match () {
                () if is("kind") => format!("[{{\"fault\": {object}}}]"),
                () if is("say") || is("blocks") => format!("[{object}]"),
                () => format!("[{{\"blocks\": [{object}]}}]"),
            };
            assert_eq!(parse(&reply).unwrap().len(), 1, "{line}");
            read += 1;
        }
        assert_eq!(read, 23);
    }

    #[test]
    fn misspelt_script_is_an_error() {
        for bad in ["{}", r#"[{"says": "x"}]"#, r#"[{"fault": {"kind": "cut", "when": 1}}]"#] {
            assert!(parse(bad).unwrap_err().to_string().contains("see --help"), "{bad}");
        }
    }
}
