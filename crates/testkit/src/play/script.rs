//! Scripts in JSON, for the command-line servers.

use serde::Deserialize;
use serde_json::Value;

use super::act::{Act, Fault, Found, Page, Piece, Refused};

/// The help text about the format.
pub const FORMAT: &str = r#"A script is a JSON list of acts, one to a request; after the last one the server echoes.

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
pub struct BadScript(#[from] serde_json::Error);

/// Parses the script `text` into replies.
pub fn parse(text: &str) -> Result<Vec<Act>, BadScript> {
    let acts: Vec<Written> = serde_json::from_str(text)?;
    Ok(acts.into_iter().map(Written::act).collect())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    say: Option<String>,
    #[serde(default)]
    blocks: Vec<WrittenBlock>,
    stop: Option<String>,
    declines: Option<String>,
    fault: Option<WrittenFault>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum WrittenBlock {
    Text { text: String },
    Thinking { thinking: String, signature: String },
    Note { note: String },
    Tool { tool: String, input: Value },
    Raw { raw: Value },
    Search { search: String, pages: Option<Vec<Page>>, error: Option<String> },
    Cited { cited: String, page: Page },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum WrittenFault {
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

impl Written {
    fn act(self) -> Act {
        let said = self.say.map(Piece::Text);
        let pieces = said.into_iter().chain(self.blocks.into_iter().map(WrittenBlock::piece));
        let mut act = pieces.fold(Act::empty(), Act::and);
        act.stop = self.stop;
        if let Some(category) = self.declines {
            act = act.declining(Some(&category));
        }
        if let Some(fault) = self.fault.map(WrittenFault::fault) {
            act.details = fault.details.or(act.details);
            act.fault = fault.fault;
        }
        act
    }
}

impl WrittenBlock {
    fn piece(self) -> Piece {
        match self {
            Self::Text { text } => Piece::Text(text),
            Self::Thinking { thinking, signature } => Piece::Thinking { thinking, signature },
            Self::Note { note } => Piece::Note(note),
            Self::Tool { tool, input } => Piece::Call { name: tool, input: input.to_string() },
            Self::Raw { raw } => Piece::Raw(raw),
            Self::Search { search: query, pages, error } => {
                let found = match (pages, error) {
                    (_, Some(code)) => Found::Error(code),
                    (Some(pages), None) => Found::Pages(pages),
                    (None, None) => Found::Pending,
                };
                Piece::Search { query, found }
            }
            Self::Cited { cited: text, page } => Piece::Cited { text, page },
        }
    }
}

impl WrittenFault {
    /// Returns a reply with only this fault.
    fn fault(self) -> Act {
        let fault = match self {
            Self::RateLimited { seconds } => return Act::rate_limited(seconds),
            Self::SpendLimited {} => return Act::spend_limited(),
            Self::Overloaded {} => return Act::overloaded(),
            Self::Broken {} => return Act::broken(),
            Self::Refuse { status, error: kind, message } => {
                Fault::Refuse(Refused { status, kind, message, retry_after: None })
            }
            Self::Html {} => Fault::Html,
            Self::Stall { at } => Fault::Stall(at),
            Self::Cut { at } => Fault::Cut(at),
            Self::End { at } => Fault::End(at),
            Self::Error { at, error } => Fault::Error(at, error),
            Self::Garbage { at } => Fault::Garbage(at),
            Self::BadJson { at } => Fault::BadJson(at),
        };
        Act::empty().with(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"{"title": "T", "url": "https://a.org/"}}"#;

    #[test]
    fn every_line_of_the_help_is_a_script_that_can_be_read() {
        let objects = FORMAT.lines().map(str::trim).filter(|line| line.starts_with('{'));
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
            let act = match () {
                () if is("kind") => format!("[{{\"fault\": {object}}}]"),
                () if is("say") || is("blocks") => format!("[{object}]"),
                () => format!("[{{\"blocks\": [{object}]}}]"),
            };
            assert_eq!(parse(&act).unwrap().len(), 1, "{line}");
            read += 1;
        }
        assert_eq!(read, 23);
    }

    #[test]
    fn a_misspelt_script_is_an_error() {
        for bad in ["{}", r#"[{"says": "x"}]"#, r#"[{"fault": {"kind": "cut", "when": 1}}]"#] {
            assert!(parse(bad).unwrap_err().to_string().contains("see --help"), "{bad}");
        }
    }
}
