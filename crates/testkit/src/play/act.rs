//! The scripted reply to one request.

use domain::conversation::Usage;
use serde_json::Value;

use super::gate::Gate;

/// A reply and its faults. Events are counted from 0.
#[derive(Clone, Debug)]
pub struct Act {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) stop: Option<String>,
    pub(crate) fault: Option<Fault>,
    pub(crate) hold: Option<(At, Gate)>,
    pub(crate) chopped: Option<u64>,
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
pub enum Piece {
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
        found: Found,
    },
    /// Text that cites a page.
    Cited {
        text: String,
        /// The cited page.
        page: Page,
    },
}

/// The outcome of a web search.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    Pages(Vec<Page>),
    /// A vendor's error code.
    Error(String),
    /// No result yet: the server pauses the turn.
    Pending,
}

/// A page found by a search.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    pub title: String,
    /// Its URL.
    pub url: String,
    /// An excerpt.
    #[serde(default)]
    pub words: String,
}

impl Page {
    /// Creates a page.
    pub fn new(title: &str, url: &str, words: &str) -> Self {
        Self { title: title.to_owned(), url: url.to_owned(), words: words.to_owned() }
    }
}

/// A fault of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    Refuse(Refused),
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
pub struct Refused {
    pub status: u16,
    /// The error type in the body.
    pub kind: String,
    pub message: String,
    /// The value of the `retry-after` header, if any.
    pub retry_after: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    Head,
    Event(usize),
}

impl Act {
    /// Creates a reply without content.
    pub fn empty() -> Self {
        Self {
            pieces: Vec::new(),
            stop: None,
            fault: None,
            hold: None,
            chopped: None,
            charge: None,
            details: None,
        }
    }

    /// Creates a reply with a text.
    pub fn says(text: &str) -> Self {
        Self::empty().and_says(text)
    }

    /// Creates a reply with one tool call.
    pub fn calls(name: &str, input: &Value) -> Self {
        Self::empty().and_calls(name, input)
    }

    /// Creates an error response with `status` and an error of `kind`.
    pub fn refuses(status: u16, kind: &str, message: &str) -> Self {
        let refused =
            Refused { status, kind: kind.to_owned(), message: message.to_owned(), retry_after: None };
        Self::empty().with(Fault::Refuse(refused))
    }

    /// Creates a 429 with a `retry-after` in seconds.
    pub fn rate_limited(seconds: u64) -> Self {
        let message = "This request would exceed your organization's rate limit.".to_owned();
        let refused = Refused {
            status: 429,
            kind: "rate_limit_error".to_owned(),
            message,
            retry_after: Some(seconds.to_string()),
        };
        Self::empty().with(Fault::Refuse(refused))
    }

    /// Creates the error for an exceeded spend limit.
    pub fn spend_limited() -> Self {
        Self::spend_limited_saying("You have reached your specified workspace spend limit.")
    }

    /// Creates the error for an exceeded spend limit with the vendor's code and another message.
    pub fn spend_limited_saying(message: &str) -> Self {
        let mut act = Self::refuses(429, "rate_limit_error", message);
        let error_code = Some("enforced_spend_limit_reached".to_owned());
        act.details = Some(Box::new(Details { error_code, ..Details::default() }));
        act
    }

    /// Creates the error for an overloaded service.
    pub fn overloaded() -> Self {
        Self::refuses(529, "overloaded_error", "Overloaded")
    }

    /// Creates an internal server error.
    pub fn broken() -> Self {
        Self::refuses(500, "api_error", "Internal server error")
    }

    /// Adds text.
    #[must_use]
    pub fn and_says(self, text: &str) -> Self {
        self.and(Piece::Text(text.to_owned()))
    }

    /// Adds a tool call.
    #[must_use]
    pub fn and_calls(self, name: &str, input: &Value) -> Self {
        self.and(Piece::Call { name: name.to_owned(), input: input.to_string() })
    }

    /// Adds thinking.
    #[must_use]
    pub fn and_thinks(self, thinking: &str, signature: &str) -> Self {
        self.and(Piece::Thinking { thinking: thinking.to_owned(), signature: signature.to_owned() })
    }

    /// Adds thinking that the server signs.
    #[must_use]
    pub fn and_signed_thinking(self, thinking: &str) -> Self {
        self.and_thinks(thinking, "")
    }

    /// Adds a note to the user between tool calls.
    #[must_use]
    pub fn and_notes(self, note: &str) -> Self {
        self.and(Piece::Note(note.to_owned()))
    }

    /// Creates a reply that uses up `max_tokens` with thinking, before any text.
    pub fn only_thinks(thinking: &str) -> Self {
        Self::empty().and_signed_thinking(thinking).stopping("max_tokens")
    }

    /// Declines to answer with a reason of this `category`, after the pieces so far.
    #[must_use]
    pub fn declining(mut self, category: Option<&str>) -> Self {
        let explanation = "This request was declined.";
        let details =
            serde_json::json!({"type": "refusal", "category": category, "explanation": explanation});
        self.details = Some(Box::new(Details { stop_details: Some(details), ..Details::default() }));
        self.stopping("refusal")
    }

    /// Adds a web search that finds `pages`.
    #[must_use]
    pub fn and_searches(self, query: &str, pages: &[Page]) -> Self {
        self.and(Piece::Search { query: query.to_owned(), found: Found::Pages(pages.to_vec()) })
    }

    /// Adds a web search that fails with the vendor's error `code`.
    #[must_use]
    pub fn and_fails_to_search(self, query: &str, code: &str) -> Self {
        self.and(Piece::Search { query: query.to_owned(), found: Found::Error(code.to_owned()) })
    }

    /// Adds a web search, and pauses the turn before its result.
    #[must_use]
    pub fn and_pauses(self, query: &str) -> Self {
        self.and(Piece::Search { query: query.to_owned(), found: Found::Pending }).stopping("pause_turn")
    }

    /// Adds text that cites `page`.
    #[must_use]
    pub fn and_cites(self, text: &str, page: &Page) -> Self {
        self.and(Piece::Cited { text: text.to_owned(), page: page.clone() })
    }

    /// Creates the default reply of a server with a hosted search.
    pub(crate) fn searches_for(query: &str) -> Self {
        let page = Page::new("A page", "https://example.org/a-page", "Words of a page.");
        Self::empty().and_searches(query, std::slice::from_ref(&page)).and_cites("A page says so.", &page)
    }

    /// Adds a piece.
    #[must_use]
    pub fn and(mut self, piece: Piece) -> Self {
        self.pieces.push(piece);
        self
    }

    /// Sets the stop reason, instead of the natural one.
    #[must_use]
    pub fn stopping(mut self, reason: &str) -> Self {
        self.stop = Some(reason.to_owned());
        self
    }

    /// Adds a fault.
    #[must_use]
    pub fn with(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Waits at `gate` before the event with this number.
    #[must_use]
    pub fn held_at(mut self, event: usize, gate: &Gate) -> Self {
        self.hold = Some((At::Event(event), gate.clone()));
        self
    }

    /// Waits at `gate` before sending the response head.
    #[must_use]
    pub fn held_back(mut self, gate: &Gate) -> Self {
        self.hold = Some((At::Head, gate.clone()));
        self
    }

    /// Sends the stream in chunks of random sizes determined by `seed`.
    #[must_use]
    pub fn chopped(mut self, seed: u64) -> Self {
        self.chopped = Some(seed);
        self
    }

    /// Overrides the charged usage.
    #[must_use]
    pub fn charging(mut self, usage: Usage) -> Self {
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
    pub(crate) fn wants_tools(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Call { .. }))
    }
}
