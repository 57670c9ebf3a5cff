//! The scripted reply to one request.

use domain::conversation::Usage;
use serde_json::Value;

use super::gate::Gate;

/// A reply and its faults. Events are counted from 0.
#[derive(Clone, Debug)]
pub struct ScriptedReply {
    pub(crate) pieces: Vec<ReplyPiece>,
    pub(crate) stop: Option<String>,
    pub(crate) fault: Option<ReplyFault>,
    pub(crate) wait_at: Option<(WaitPoint, Gate)>,
    pub(crate) chunked: Option<u64>,
    pub(crate) charge: Option<Box<Usage>>,
    pub(crate) details: Option<Box<Details>>,
}

/// Details that exist only in the Messages API.
#[derive(Clone, Debug, Default)]
pub(crate) struct Details {
    /// `error.details.error_code` of a refusal.
    pub(crate) error_code: Option<String>,
    /// `stop_details` of a reply.
    pub(crate) stop_details: Option<Value>,
}

/// A part of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyPiece {
    Text(String),
    /// Thinking with its signature. The server of the Messages API signs thinking whose signature
    /// is empty.
    Thinking {
        /// The thinking text.
        thinking: String,
        signature: String,
    },
    /// A note to the user before a tool call. Newer Anthropic models send it as a thinking block.
    Note(String),
    /// A tool call.
    Call {
        /// The name of the tool.
        name: String,
        /// Its input as JSON text, which may be invalid on purpose.
        input: String,
    },
    /// A block of any type, sent complete in its start event.
    Raw(Value),
    /// A web search that the server performs with its own tool.
    Search {
        /// The query.
        query: String,
        /// The outcome.
        outcome: SearchOutcome,
    },
    /// Text that cites a page.
    Citation {
        text: String,
        /// The cited page.
        page: WebPage,
    },
}

/// The outcome of a web search.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchOutcome {
    Pages(Vec<WebPage>),
    /// A vendor's error code.
    Error(String),
    /// No result yet: the server pauses the turn.
    Pending,
}

/// A page found by a search.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebPage {
    pub title: String,
    /// Its URL.
    pub url: String,
    /// An excerpt.
    #[serde(default)]
    pub words: String,
}

impl WebPage {
    /// Creates a page.
    pub fn new(meta: &str, url: &str, excerpt: &str) -> Self {
        Self { title: meta.to_owned(), url: url.to_owned(), words: excerpt.to_owned() }
    }
}

/// A fault of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyFault {
    Refuse(ErrorReply),
    /// An HTML page with a success status.
    Html,
    /// Sends nothing from this event on and keeps the connection open.
    Stall(usize),
    /// Breaks the connection before this event.
    Cut(usize),
    /// Ends the stream before this event without an error.
    End(usize),
    /// Sends an `error` event of this kind instead of this event, and ends.
    Error(usize, String),
    /// Sends bytes that are not an event instead of this event, and ends.
    Garbage(usize),
    /// Sends an event with invalid JSON instead of this event.
    BadJson(usize),
    /// Sends an event with this data instead of this event.
    Event(usize, Value),
}

/// An HTTP error response.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorReply {
    pub status: u16,
    /// The error type in the body.
    pub kind: String,
    pub message: String,
    /// The value of the `retry-after` header, if any.
    pub retry_after: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitPoint {
    Head,
    Event(usize),
}

impl ScriptedReply {
    /// Creates a reply without content.
    pub fn empty() -> Self {
        Self {
            pieces: Vec::new(),
            stop: None,
            fault: None,
            wait_at: None,
            chunked: None,
            charge: None,
            details: None,
        }
    }

    /// Creates a reply with a text.
    pub fn text(text: &str) -> Self {
        Self::empty().with_text(text)
    }

    /// Creates a reply with one tool call.
    pub fn tool_call(name: &str, input: &Value) -> Self {
        Self::empty().with_tool_call(name, input)
    }

    /// Creates an error response with `status` and an error of `kind`.
    pub fn refusal(status: u16, kind: &str, message: &str) -> Self {
        let refusal =
            ErrorReply { status, kind: kind.to_owned(), message: message.to_owned(), retry_after: None };
        Self::empty().with_fault(ReplyFault::Refuse(refusal))
    }

    /// Creates a 429 with a `retry-after` in seconds.
    pub fn rate_limited(seconds: u64) -> Self {
        let message = "This request would exceed your organization's rate limit.".to_owned();
        let refusal = ErrorReply {
            status: 429,
            kind: "rate_limit_error".to_owned(),
            message,
            retry_after: Some(seconds.to_string()),
        };
        Self::empty().with_fault(ReplyFault::Refuse(refusal))
    }

    /// Creates the error for an exceeded spend limit.
    pub fn spend_limited() -> Self {
        Self::spend_limited_with("You have reached your specified workspace spend limit.")
    }

    /// Creates the error for an exceeded spend limit with the vendor's code and another message.
    pub fn spend_limited_with(message: &str) -> Self {
        let mut reply = Self::refusal(429, "rate_limit_error", message);
        let error_code = Some("enforced_spend_limit_reached".to_owned());
        reply.details = Some(Box::new(Details { error_code, ..Details::default() }));
        reply
    }

    /// Creates the error for an overloaded service.
    pub fn overloaded() -> Self {
        Self::refusal(529, "overloaded_error", "Overloaded")
    }

    /// Creates an internal server error.
    pub fn server_error() -> Self {
        Self::refusal(500, "api_error", "Internal server error")
    }

    /// Adds text.
    #[must_use]
    pub fn with_text(self, text: &str) -> Self {
        self.with_piece(ReplyPiece::Text(text.to_owned()))
    }

    /// Adds a tool call.
    #[must_use]
    pub fn with_tool_call(self, name: &str, input: &Value) -> Self {
        self.with_piece(ReplyPiece::Call { name: name.to_owned(), input: input.to_string() })
    }

    /// Adds thinking.
    #[must_use]
    pub fn with_thinking(self, thinking: &str, signature: &str) -> Self {
        self.with_piece(ReplyPiece::Thinking {
            thinking: thinking.to_owned(),
            signature: signature.to_owned(),
        })
    }

    /// Adds thinking that the server signs.
    #[must_use]
    pub fn with_signed_thinking(self, thinking: &str) -> Self {
        self.with_thinking(thinking, "")
    }

    /// Adds a note to the user between tool calls.
    #[must_use]
    pub fn with_note(self, note: &str) -> Self {
        self.with_piece(ReplyPiece::Note(note.to_owned()))
    }

    /// Creates a reply that uses up `max_tokens` with thinking, before any text.
    pub fn thinking_only(thinking: &str) -> Self {
        Self::empty().with_signed_thinking(thinking).with_stop_reason("max_tokens")
    }

    /// Declines to answer with a reason of this `category`, after the pieces so far.
    #[must_use]
    pub fn with_model_refusal(mut self, category: Option<&str>) -> Self {
        let explanation = "This request was declined.";
        let details =
            serde_json::json!({"type": "refusal", "category": category, "explanation": explanation});
        self.details = Some(Box::new(Details { stop_details: Some(details), ..Details::default() }));
        self.with_stop_reason("refusal")
    }

    /// Adds a web search that finds `pages`.
    #[must_use]
    pub fn with_search(self, query: &str, pages: &[WebPage]) -> Self {
        self.with_piece(ReplyPiece::Search {
            query: query.to_owned(),
            outcome: SearchOutcome::Pages(pages.to_vec()),
        })
    }

    /// Adds a web search that fails with the vendor's error `code`.
    #[must_use]
    pub fn with_failed_search(self, query: &str, code: &str) -> Self {
        self.with_piece(ReplyPiece::Search {
            query: query.to_owned(),
            outcome: SearchOutcome::Error(code.to_owned()),
        })
    }

    /// Adds a web search, and pauses the turn before its result.
    #[must_use]
    pub fn with_paused_search(self, query: &str) -> Self {
        self.with_piece(ReplyPiece::Search { query: query.to_owned(), outcome: SearchOutcome::Pending })
            .with_stop_reason("pause_turn")
    }

    /// Adds text that cites `page`.
    #[must_use]
    pub fn with_citation(self, text: &str, page: &WebPage) -> Self {
        self.with_piece(ReplyPiece::Citation { text: text.to_owned(), page: page.clone() })
    }

    /// Creates the default reply of a server with a hosted search.
    pub(crate) fn default_search(query: &str) -> Self {
        let page = WebPage::new("A page", "https://example.org/a-page", "Words of a page.");
        Self::empty().with_search(query, std::slice::from_ref(&page)).with_citation("A page says so.", &page)
    }

    /// Adds a piece.
    #[must_use]
    pub fn with_piece(mut self, piece: ReplyPiece) -> Self {
        self.pieces.push(piece);
        self
    }

    /// Sets the stop reason, instead of the natural one.
    #[must_use]
    pub fn with_stop_reason(mut self, reason: &str) -> Self {
        self.stop = Some(reason.to_owned());
        self
    }

    /// Adds a fault.
    #[must_use]
    pub fn with_fault(mut self, fault: ReplyFault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Waits at `gate` before the event with this number.
    #[must_use]
    pub fn waiting_at_event(mut self, event: usize, gate: &Gate) -> Self {
        self.wait_at = Some((WaitPoint::Event(event), gate.clone()));
        self
    }

    /// Waits at `gate` before sending the response head.
    #[must_use]
    pub fn waiting_at_start(mut self, gate: &Gate) -> Self {
        self.wait_at = Some((WaitPoint::Head, gate.clone()));
        self
    }

    /// Sends the stream in chunks of random sizes determined by `seed`.
    #[must_use]
    pub fn chunked(mut self, seed: u64) -> Self {
        self.chunked = Some(seed);
        self
    }

    /// Overrides the charged usage.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.charge = Some(Box::new(usage));
        self
    }

    /// Returns the `error_code` of its refusal.
    pub(crate) fn error_code(&self) -> Option<String> {
        self.details.as_ref().and_then(|details| details.error_code.clone())
    }

    /// Returns the `stop_details` of its reply.
    pub(crate) fn stop_details(&self) -> Option<&Value> {
        self.details.as_ref().and_then(|details| details.stop_details.as_ref())
    }

    /// Returns true if it calls a tool.
    pub(crate) fn calls_tools(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, ReplyPiece::Call { .. }))
    }
}
