//! What the server plays in answer to one request.

use domain::conversation::Usage;
use serde_json::Value;

use super::gate::Gate;

/// One answer, and what goes wrong with it. Events are counted from 0.
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

/// Details that only the Messages API has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Details {
    /// `error.details.error_code` of a refusal.
    pub(crate) error_code: Option<String>,
    /// `stop_details` of a reply.
    pub(crate) stop_details: Option<Value>,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Words.
    Text(String),
    /// Thinking, and its signature. The server of the Messages API signs thinking whose signature is empty.
    Thinking {
        /// What was thought.
        thinking: String,
        /// The proof.
        signature: String,
    },
    /// A note to the user before a tool call. Newer Anthropic models send it as a thinking block.
    Note(String),
    /// A call of a tool.
    Call {
        /// The tool.
        name: String,
        /// Its input, as JSON text: it may be wrong on purpose.
        input: String,
    },
    /// A block that comes whole in its start event, of whatever kind.
    Raw(Value),
    /// A web search that the server makes with its own tool.
    Search {
        /// The query.
        query: String,
        /// What comes of it.
        found: Found,
    },
    /// Words that cite a page.
    Cited {
        /// The words.
        text: String,
        /// The page.
        page: Page,
    },
}

/// What comes of a web search.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// These pages.
    Pages(Vec<Page>),
    /// An error of the vendor's, by its code.
    Error(String),
    /// Nothing yet: the server pauses the turn.
    Pending,
}

/// A page that a search finds.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// Words on it.
    #[serde(default)]
    pub words: String,
}

impl Page {
    /// The page at `url`.
    pub fn new(title: &str, url: &str, words: &str) -> Self {
        Self { title: title.to_owned(), url: url.to_owned(), words: words.to_owned() }
    }
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The request is refused.
    Refuse(Refused),
    /// A page for people, with a status of success.
    Html,
    /// Nothing more from this event on, for ever.
    Stall(usize),
    /// The connection breaks before this event.
    Cut(usize),
    /// The stream ends before this event as if it were complete.
    End(usize),
    /// An `error` event of this kind in place of this event, and the end.
    Error(usize, String),
    /// Bytes that are no events in place of this event, and the end.
    Garbage(usize),
    /// An event whose data is no JSON in place of this event.
    BadJson(usize),
    /// An event with this data in place of this event.
    Event(usize, Value),
}

/// A refusal with a status.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The HTTP status.
    pub status: u16,
    /// The kind of error in the body.
    pub kind: String,
    /// Its message.
    pub message: String,
    /// What the `retry-after` header says, if there is one.
    pub retry_after: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    Head,
    Event(usize),
}

impl Act {
    /// An answer without a word in it.
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

    /// An answer of these words.
    pub fn says(text: &str) -> Self {
        Self::empty().and_says(text)
    }

    /// A call of one tool.
    pub fn calls(name: &str, input: &Value) -> Self {
        Self::empty().and_calls(name, input)
    }

    /// Refuses with `status` and an error of `kind`.
    pub fn refuses(status: u16, kind: &str, message: &str) -> Self {
        let refused =
            Refused { status, kind: kind.to_owned(), message: message.to_owned(), retry_after: None };
        Self::empty().with(Fault::Refuse(refused))
    }

    /// Asks to come back in a while.
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

    /// Says that the money is spent.
    pub fn spend_limited() -> Self {
        Self::spend_limited_saying("You have reached your specified workspace spend limit.")
    }

    /// Says that the money is spent with the vendor's code for it, in other words.
    pub fn spend_limited_saying(message: &str) -> Self {
        let mut act = Self::refuses(429, "rate_limit_error", message);
        let error_code = Some("enforced_spend_limit_reached".to_owned());
        act.details = Some(Box::new(Details { error_code, ..Details::default() }));
        act
    }

    /// Says that too many ask.
    pub fn overloaded() -> Self {
        Self::refuses(529, "overloaded_error", "Overloaded")
    }

    /// Breaks before it answers.
    pub fn broken() -> Self {
        Self::refuses(500, "api_error", "Internal server error")
    }

    /// Adds words.
    #[must_use]
    pub fn and_says(self, text: &str) -> Self {
        self.and(Piece::Text(text.to_owned()))
    }

    /// Adds a call.
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

    /// Uses up `max_tokens` with thinking, before the first word.
    pub fn only_thinks(thinking: &str) -> Self {
        Self::empty().and_signed_thinking(thinking).stopping("max_tokens")
    }

    /// Declines to answer for a reason of this `category`, after the pieces so far.
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

    /// Adds words that cite `page`.
    #[must_use]
    pub fn and_cites(self, text: &str, page: &Page) -> Self {
        self.and(Piece::Cited { text: text.to_owned(), page: page.clone() })
    }

    /// The search that a server makes of its own accord.
    pub(crate) fn searches_for(query: &str) -> Self {
        let page = Page::new("A page", "https://example.org/a-page", "Words of a page.");
        Self::empty().and_searches(query, std::slice::from_ref(&page)).and_cites("A page says so.", &page)
    }

    /// Adds any piece.
    #[must_use]
    pub fn and(mut self, piece: Piece) -> Self {
        self.pieces.push(piece);
        self
    }

    /// Stops for `reason` instead of the natural one.
    #[must_use]
    pub fn stopping(mut self, reason: &str) -> Self {
        self.stop = Some(reason.to_owned());
        self
    }

    /// Lets something go wrong.
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

    /// Waits at `gate` before anything is answered at all.
    #[must_use]
    pub fn held_back(mut self, gate: &Gate) -> Self {
        self.hold = Some((At::Head, gate.clone()));
        self
    }

    /// Sends the bytes of the stream in pieces whose sizes `seed` chooses.
    #[must_use]
    pub fn chopped(mut self, seed: u64) -> Self {
        self.chopped = Some(seed);
        self
    }

    /// Charges this for it, instead of what is counted.
    #[must_use]
    pub fn charging(mut self, usage: Usage) -> Self {
        self.charge = Some(Box::new(usage));
        self
    }

    /// The `error_code` of its refusal.
    pub(crate) fn error_code(&self) -> Option<String> {
        self.details.as_ref().and_then(|details| details.error_code.clone())
    }

    /// The `stop_details` of its reply.
    pub(crate) fn stop_details(&self) -> Option<&Value> {
        self.details.as_ref().and_then(|details| details.stop_details.as_ref())
    }

    /// Whether it calls a tool.
    pub(crate) fn wants_tools(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Call { .. }))
    }
}
