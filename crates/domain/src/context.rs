//! Builds the text that the model reads.
//!
//! The order is fixed: tools, instructions, conversation. Between two requests of a branch only the
//! end changes, so the vendor's prompt cache can be used.

mod agent_task;
pub mod agents;
mod approving;
mod data_block;
mod forking;
mod instructions;
mod measure;
mod opening;
mod overhead;
mod owing;
mod pinging;
mod preamble;
mod quoting;
mod reference;
mod reports;
mod request_size;
mod retold;
mod scheduled;
pub mod skills;
mod stamp;
mod webhook;

use std::sync::Arc;

pub use agent_task::{agent_failed, agent_task, agent_unpaid, no_such_agent};
pub use approving::allowed_late;
pub use data_block::{data_block, sources};
pub use forking::{FORK_PRESSED, FORK_RESUMED, FORK_STARTED, REPORT_WANTED, fork_started};
pub use instructions::{HUMAN, Names, addressed, instructions, instructions_with_skills};
pub use measure::{Measure, Pictures};
pub use opening::{Change, Opening, ToolText};
pub use overhead::{guessed, overhead};
pub use owing::still_owed;
pub use pinging::{NoPing, REPORTS_BLOCKED, STOP_REFUSED, held_back, no_ping, say_otherwise};
pub use preamble::Preamble;
pub use quoting::{QUOTE_CHARS, message_words, quotation};
pub use reference::{REFERENCES, Reference};
pub use reports::{QUOTED, Reader, TOLD, preface};
pub use request_size::Window;
pub use retold::{RETOLD_CHARS, retold};
pub use scheduled::{Scheduled, Where, late};
pub use stamp::stamp;
pub use webhook::{called, shown_as_it_came, to_be_checked};

use crate::conversation::{Block, Branch, Heard, Reach, Said};
use crate::effort::Effort;
use crate::thinking::Thinking;
use crate::tool::ToolSpec;

/// The most characters of one tool's result that the model reads; what is left out is counted.
pub const TOOL_RESULT_CHARS: usize = 30_000;

/// The start of the line in a search result after which the vendor model's text follows.
pub const SEARCH_ANSWER: &str = "\nAnswer of ";

/// One request for a reply.
#[derive(Clone, Debug)]
pub struct Context {
    /// The branch of the reply. It is not part of the prompt; models that keep a state per branch
    /// need it.
    pub branch: Branch,
    /// The vendor's model id; `None` means the default.
    pub model: Option<String>,
    pub thinking: Thinking,
    pub effort: Effort,
    /// Whether the user takes part in the conversation. Its cached prefix is then worth keeping for
    /// an hour.
    pub interactive: bool,
    pub tools: Arc<[ToolSpec]>,
    pub instructions: Arc<str>,
    /// The conversation from the last summary on, oldest first.
    pub said: Vec<Arc<Said>>,
    /// System notes between the entries, in order: changes of the instructions since the
    /// conversation began. They are appended, because changing the instructions themselves would
    /// invalidate the vendor's cache and every signed thinking block.
    pub notes: Vec<SystemNote>,
    /// The number of entries at the end of `entries` that are only part of this request and are not
    /// stored.
    pub aside: usize,
}

/// A message from us to the model that is read like instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemNote {
    /// The index in `Context::entries` of the entry that the note follows: a user message or tool
    /// results.
    pub after: usize,
    pub text: Arc<str>,
}

impl Context {
    /// Returns the request with `transient` appended as entries that are not stored.
    #[must_use]
    pub fn and(&self, aside: &[Arc<Said>]) -> Self {
        let mut context = self.clone();
        context.said.extend_from_slice(aside);
        context.aside += aside.len();
        context
    }

    /// Returns the entries that are stored.
    pub fn kept(&self) -> &[Arc<Said>] {
        &self.said[..self.said.len().saturating_sub(self.aside)]
    }
}

/// Returns the entries that ask the model to continue its interrupted reply `half`.
pub fn continuing(half: &str) -> [Arc<Said>; 2] {
    let words = vec![Block::Text(half.to_owned())];
    let nudge = Said::Human(Heard::note(CONTINUE.to_owned()));
    [Arc::new(Said::Assistant(words, Reach::Cut)), Arc::new(nudge)]
}

/// The note after an interrupted reply.
const CONTINUE: &str = "[the connection broke here. go on exactly where your words stop, without repeating any of \
    them and without a remark about it.]";

/// Returns a user message as the model reads it: the preface, then the text.
pub fn heard(heard: &Heard) -> String {
    joined(&heard.preface, &heard.text)
}

/// Joins a preface and a text, on one line unless the preface ends with a line break.
pub fn joined(preface: &str, text: &str) -> String {
    match (preface, text) {
        (preface, "") => preface.trim_end().to_owned(),
        ("", text) => text.to_owned(),
        (preface, text) if preface.ends_with('\n') => format!("{preface}{text}"),
        (preface, text) => format!("{preface} {text}"),
    }
}

/// Appends `lead` to a preface. The lead ends its own lines, so the text follows below.
pub fn led(preface: &str, lead: &str) -> String {
    match lead {
        "" => preface.to_owned(),
        lead if preface.ends_with('\n') => format!("{preface}{lead}"),
        lead => format!("{preface} {lead}"),
    }
}

/// Returns the text that replaces the summarized conversation.
pub fn summary(text: &str) -> String {
    format!("[summary of our conversation until here]\n{text}")
}

/// Returns a tool result, cut to the limit.
pub fn tool_result(text: String) -> String {
    let Some((end, _)) = text.char_indices().nth(TOOL_RESULT_CHARS) else { return text };
    let left_out = text[end..].chars().count();
    format!("{}\n[{left_out} more characters were left out]", &text[..end])
}

/// The result of a call that was running when the program stopped.
pub const UNKNOWN_OUTCOME: &str = "the program was stopped while this ran, so nobody knows whether it \
    happened. it was not repeated. tell the human, and check before doing it again.";

#[cfg(test)]
mod tests {
    use super::*;

    /// PU-12, MC-15: The time comes first, and is alone if there is no text.
    #[test]
    fn a_message_reads_time_first() {
        let check = |preface: &str, text: &str, expected: &str| {
            let preface = preface.to_owned();
            let text = text.to_owned();
            assert_eq!(heard(&Heard { preface, text, images: Vec::new() }), expected);
        };
        check("[now]", "hello", "[now] hello");
        check("[now]", "", "[now]");
        check("", "hello", "hello");
        check(&led("[now]", "> so\n\n"), "hello", "[now] > so\n\nhello");
        check(&led("[now] UPDATES:\n- one\n\n", "> so\n\n"), "hi", "[now] UPDATES:\n- one\n\n> so\n\nhi");
        check(&led("[now]", ""), "hello", "[now] hello");
    }

    #[test]
    fn a_long_result_is_cut_between_characters_and_says_how_much_is_missing() {
        assert_eq!(tool_result("short".to_owned()), "short");
        let long = "ü".repeat(TOOL_RESULT_CHARS + 5);
        let read = tool_result(long);
        assert!(read.ends_with("ü\n[5 more characters were left out]"));
        assert_eq!(read.matches('ü').count(), TOOL_RESULT_CHARS);
    }
}
