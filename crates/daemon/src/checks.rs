//! Checks of single subsystems, each with a finding and a fix. Used by the doctor, the status and
//! the setup.

pub mod accounts;
pub mod backups;
pub mod budget;
pub mod corrupt_files;
pub mod data;
pub mod discord;
pub mod model;
pub mod permissions;
pub mod running_daemon;
pub mod schedule;
pub mod search;

use serde_json::{Value, json};

/// The result of one check.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The name of the checked subsystem.
    pub subject: &'static str,
    pub state: State,
    /// A description for the user.
    pub text: String,
    /// A command or hint that fixes it, unless `text` already contains it.
    pub fix: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Fine,
    /// Not present and not required.
    Absent,
    /// Works, but not for long or not completely.
    Warning,
    Wrong,
}

impl State {
    /// Returns a symbol for text output.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Fine => "✓",
            Self::Absent => "–",
            Self::Warning => "!",
            Self::Wrong => "✗",
        }
    }

    /// Returns the name for JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Absent => "absent",
            Self::Warning => "warning",
            Self::Wrong => "wrong",
        }
    }
}

impl Finding {
    pub fn new(what: &'static str, state: State, text: impl Into<String>) -> Self {
        Self { subject: what, state, text: text.into(), fix: None }
    }

    pub fn fine(what: &'static str, text: impl Into<String>) -> Self {
        Self::new(what, State::Fine, text)
    }

    pub fn absent(what: &'static str, text: impl Into<String>) -> Self {
        Self::new(what, State::Absent, text)
    }

    pub fn wrong(what: &'static str, text: impl Into<String>) -> Self {
        Self::new(what, State::Wrong, text)
    }

    /// Adds a command or hint that fixes it.
    pub fn with_fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    pub fn as_json(&self) -> Value {
        json!({ "what": self.subject, "state": self.state.as_str(), "text": self.text, "fix": self.fix })
    }

    /// Formats it for a terminal: one line, and a second one for the fix.
    pub fn to_text(&self) -> String {
        let fix = self.fix.as_ref().map(|fix| format!("    fix: {fix}\n")).unwrap_or_default();
        format!("{} {:<8} {}\n{fix}", self.state.symbol(), self.subject, self.text)
    }
}

/// Counts the `findings` in the given state.
pub fn count(findings: &[Finding], state: State) -> usize {
    findings.iter().filter(|finding| finding.state == state).count()
}
