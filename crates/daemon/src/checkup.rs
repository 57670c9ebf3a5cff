//! Checkups: how one thing is, and what to do about it. The doctor, the status and the setup all look with these.

pub mod accounts;
pub mod aside;
pub mod data;
pub mod discord;
pub mod keeping;
pub mod loose;
pub mod model;
pub mod running;
pub mod schedule;
pub mod search;
pub mod spending;

use serde_json::{Value, json};

/// How one thing is.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was looked at.
    pub what: &'static str,
    /// How it is.
    pub state: State,
    /// The same in words.
    pub text: String,
    /// What would mend it, if that is not said in the words already.
    pub fix: Option<String>,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Fine,
    /// It is not there, and need not be.
    Absent,
    /// It works, but not for long, or not whole.
    Warning,
    /// It does not work.
    Wrong,
}

impl State {
    /// A mark for people.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Fine => "✓",
            Self::Absent => "–",
            Self::Warning => "!",
            Self::Wrong => "✗",
        }
    }

    /// A word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Absent => "absent",
            Self::Warning => "warning",
            Self::Wrong => "wrong",
        }
    }
}

impl Finding {
    /// `what` is so.
    pub fn new(what: &'static str, state: State, text: impl Into<String>) -> Self {
        Self { what, state, text: text.into(), fix: None }
    }

    /// `what` is as it should be.
    pub fn fine(what: &'static str, text: impl Into<String>) -> Self {
        Self::new(what, State::Fine, text)
    }

    /// `what` is not there.
    pub fn absent(what: &'static str, text: impl Into<String>) -> Self {
        Self::new(what, State::Absent, text)
    }

    /// `what` does not work.
    pub fn wrong(what: &'static str, text: impl Into<String>) -> Self {
        Self::new(what, State::Wrong, text)
    }

    /// It, and what would mend it.
    pub fn fixed_by(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    /// It, for programs.
    pub fn as_json(&self) -> Value {
        json!({ "what": self.what, "state": self.state.word(), "text": self.text, "fix": self.fix })
    }

    /// It, for people: a line, and one below it if something is to be done.
    pub fn told(&self) -> String {
        let fix = self.fix.as_ref().map(|fix| format!("    fix: {fix}\n")).unwrap_or_default();
        format!("{} {:<8} {}\n{fix}", self.state.mark(), self.what, self.text)
    }
}

/// How many of `findings` are so.
pub fn count(findings: &[Finding], state: State) -> usize {
    findings.iter().filter(|finding| finding.state == state).count()
}
