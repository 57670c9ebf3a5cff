//! Builds the text that the model reads.
//!
//! The order is fixed: tools, instructions, conversation. Between two requests of a branch only the
//! end changes, so the vendor's prompt cache can be used.

mod agent_task;
pub mod agents;
mod data_block;
mod estimate;
mod forks;
mod instructions;
mod job_prompt;
mod late_approval;
mod pings;
mod preamble;
mod prompt_prefix;
mod quotation;
mod reduction;
mod reference;
mod request_size;
pub mod skills;
mod stamp;
mod transcript;
mod unanswered;
mod updates;
mod webhook;

use std::sync::Arc;

pub use agent_task::{agent_failed, agent_over_limit, agent_task, unknown_agent};
pub use data_block::{data_block, source_names};
pub use estimate::{estimate_overhead, estimate_usage};
pub use forks::{FORK_FROM_BUTTON, FORK_FROM_REPLY, FORK_STARTED, REPORT_REQUESTED, fork_started};
pub use instructions::{Names, USER_PLACEHOLDER, instructions, instructions_with_skills, with_user_name};
pub use job_prompt::{JobPrompt, PromptTarget, late_note};
pub use late_approval::late_approval;
pub use pings::{
    PingRefusal, REPORTS_BLOCKED, STOP_REFUSED, deferral_text, ping_refusal_text, rephrase_request,
};
pub use preamble::Preamble;
pub use prompt_prefix::{InstructionChange, PromptPrefix, ToolText};
pub use quotation::{MAX_QUOTE_CHARS, message_text, quotation};
pub use reduction::{Pictures, Reduction};
pub use reference::{REFERENCES, Reference};
pub use request_size::RequestLimit;
pub use stamp::stamp;
pub use transcript::{MAX_TRANSCRIPT_CHARS, transcript};
pub use unanswered::unanswered_note;
pub use updates::{INBOX_SOURCE, MAX_QUOTED, UpdateReader, preface};
pub use webhook::{check_prompt, verbatim_note, webhook_prompt};

use crate::conversation::{Block, Branch, Completeness, EntryContent, UserInput};
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
    pub entries: Vec<Arc<EntryContent>>,
    /// System notes between the entries, in order: changes of the instructions since the
    /// conversation began. They are appended, because changing the instructions themselves would
    /// invalidate the vendor's cache and every signed thinking block.
    pub notes: Vec<SystemNote>,
    /// The number of entries at the end of `entries` that are only part of this request and are not
    /// stored.
    pub transient_count: usize,
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
    pub fn with_transient(&self, transient: &[Arc<EntryContent>]) -> Self {
        let mut context = self.clone();
        context.entries.extend_from_slice(transient);
        context.transient_count += transient.len();
        context
    }

    /// Returns the entries that are stored.
    pub fn stored_entries(&self) -> &[Arc<EntryContent>] {
        &self.entries[..self.entries.len().saturating_sub(self.transient_count)]
    }
}

/// Returns the entries that ask the model to continue its interrupted reply `half`.
pub fn continuation_prompt(half: &str) -> [Arc<EntryContent>; 2] {
    let words = vec![Block::Text(half.to_owned())];
    let nudge = EntryContent::User(UserInput::note(CONTINUE.to_owned()));
    [Arc::new(EntryContent::Assistant(words, Completeness::Interrupted)), Arc::new(nudge)]
}

/// The note after an interrupted reply.
const CONTINUE: &str = "[the connection broke here. go on exactly where your words stop, without repeating any of \
    them and without a remark about it.]";

/// Returns a user message as the model reads it: the preface, then the text.
pub fn user_text(input: &UserInput) -> String {
    join_preface(&input.preface, &input.text)
}

/// Joins a preface and a text, on one line unless the preface ends with a line break.
pub fn join_preface(preface: &str, text: &str) -> String {
    match (preface, text) {
        (preface, "") => preface.trim_end().to_owned(),
        ("", text) => text.to_owned(),
        (preface, text) if preface.ends_with('\n') => format!("{preface}{text}"),
        (preface, text) => format!("{preface} {text}"),
    }
}

/// Appends `lead` to a preface. The lead ends its own lines, so the text follows below.
pub fn with_lead(preface: &str, lead: &str) -> String {
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
    fn message_begins_with_the_time() {
        let check = |preface: &str, text: &str, expected: &str| {
            let preface = preface.to_owned();
            let text = text.to_owned();
            assert_eq!(user_text(&UserInput { preface, text, images: Vec::new() }), expected);
        };
        check("[now]", "hello", "[now] hello");
        check("[now]", "", "[now]");
        check("", "hello", "hello");
        check(&with_lead("[now]", "> so\n\n"), "hello", "[now] > so\n\nhello");
        check(
            &with_lead("[now] UPDATES:\n- one\n\n", "> so\n\n"),
            "hi",
            "[now] UPDATES:\n- one\n\n> so\n\nhi",
        );
        check(&with_lead("[now]", ""), "hello", "[now] hello");
    }

    #[test]
    fn long_result_is_cut_between_characters() {
        assert_eq!(tool_result("short".to_owned()), "short");
        let long = "ü".repeat(TOOL_RESULT_CHARS + 5);
        let read = tool_result(long);
        assert!(read.ends_with("ü\n[5 more characters were left out]"));
        assert_eq!(read.matches('ü').count(), TOOL_RESULT_CHARS);
    }
}
