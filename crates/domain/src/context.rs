//! Every word the model reads, and where it stands.
//!
//! The order is fixed: tools, instructions, what was said. Nothing before the newest words changes between
//! two requests on a branch, so what was read once can be read again from the vendor's cache.

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

/// The beginning of the line of a search result below which the words of the vendor's model stand.
pub const SEARCH_ANSWER: &str = "\nAnswer of ";

/// One request for a reply.
#[derive(Clone, Debug)]
pub struct Context {
    /// Where the reply is said. Nobody reads it out to the model: it is for models that keep a memory of
    /// their own, one for each branch.
    pub branch: Branch,
    /// The vendor's id of the model that should answer; nothing, for the usual one.
    pub model: Option<String>,
    /// How much it thinks before it answers.
    pub thinking: Thinking,
    /// How much work it puts into the answer.
    pub effort: Effort,
    /// Whether the user takes part in the conversation. Its cached beginning is then worth keeping for an hour.
    pub interactive: bool,
    /// The tools that may be called.
    pub tools: Arc<[ToolSpec]>,
    /// Who the model is and how it behaves.
    pub instructions: Arc<str>,
    /// What was said, oldest first, from the last summary on.
    pub said: Vec<Arc<Said>>,
    /// System notes between the entries of `said`, in order: changes of the instructions since the conversation
    /// began. They are appended, because changing the instructions themselves would invalidate the vendor's cache
    /// and every signed thinking block.
    pub notes: Vec<SystemNote>,
    /// How many of these, at the end, are only read now: the next request goes on without them.
    pub aside: usize,
}

/// A message from us to the model that is read like instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemNote {
    /// The index in `Context::said` of the entry that the note follows. That entry is a user message or tool results.
    pub after: usize,
    /// Its text.
    pub text: Arc<str>,
}

impl Context {
    /// The same request with `aside` after it: what the model reads and nobody keeps.
    #[must_use]
    pub fn and(&self, aside: &[Arc<Said>]) -> Self {
        let mut context = self.clone();
        context.said.extend_from_slice(aside);
        context.aside += aside.len();
        context
    }

    /// What was said and is kept, without what is only read now.
    pub fn kept(&self) -> &[Arc<Said>] {
        &self.said[..self.said.len().saturating_sub(self.aside)]
    }
}

/// What the model reads when `half` of its reply was heard before it broke off.
pub fn continuing(half: &str) -> [Arc<Said>; 2] {
    let words = vec![Block::Text(half.to_owned())];
    let nudge = Said::Human(Heard::note(CONTINUE.to_owned()));
    [Arc::new(Said::Assistant(words, Reach::Cut)), Arc::new(nudge)]
}

/// What the model reads after its own words when they broke off.
const CONTINUE: &str = "[the connection broke here. go on exactly where your words stop, without repeating any of \
    them and without a remark about it.]";

/// What the model reads of a message: the preface, then the human's words.
pub fn heard(heard: &Heard) -> String {
    joined(&heard.preface, &heard.text)
}

/// A preface and the words after it: on the same line, unless the preface has lines of its own.
pub fn joined(preface: &str, text: &str) -> String {
    match (preface, text) {
        (preface, "") => preface.trim_end().to_owned(),
        ("", text) => text.to_owned(),
        (preface, text) if preface.ends_with('\n') => format!("{preface}{text}"),
        (preface, text) => format!("{preface} {text}"),
    }
}

/// A preface with a `lead` of ours after it, which ends its own lines: the words follow below.
pub fn led(preface: &str, lead: &str) -> String {
    match lead {
        "" => preface.to_owned(),
        lead if preface.ends_with('\n') => format!("{preface}{lead}"),
        lead => format!("{preface} {lead}"),
    }
}

/// What the model reads in place of everything that a summary stands for.
pub fn summary(text: &str) -> String {
    format!("[summary of our conversation until here]\n{text}")
}

/// What the model reads of a long tool result.
pub fn tool_result(text: String) -> String {
    let Some((end, _)) = text.char_indices().nth(TOOL_RESULT_CHARS) else { return text };
    let left_out = text[end..].chars().count();
    format!("{}\n[{left_out} more characters were left out]", &text[..end])
}

/// What the model reads of a call that was running when the program ended.
pub const UNKNOWN_OUTCOME: &str = "the program was stopped while this ran, so nobody knows whether it \
    happened. it was not repeated. tell the human, and check before doing it again.";

#[cfg(test)]
mod tests {
    use super::*;

    /// PU-12, MC-15: the time stands first, and alone if there are no words.
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
