//! Errors of commands, with their exit codes and messages.

use std::fmt;
use std::process::ExitCode;

use journal::NotOpened;
use serde_json::json;
use surfaces::client::Unanswered;
use surfaces::terminal::Stopped;

use crate::cli::Output;

/// An error of a command.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    #[error("{0}")]
    NotDone(String),
    #[error("{0}")]
    Usage(String),
    /// A reference has several matches.
    #[error("{0}")]
    Ambiguous(Ambiguous),
    /// Another process uses the data directory.
    #[error("{0}")]
    Running(String),
    /// A setting, file or directory must be changed first.
    #[error("{0}")]
    Configuration(String),
}

/// An ambiguous reference and its candidates.
#[derive(Debug)]
pub struct Ambiguous {
    pub message: String,
    pub candidates: Vec<Candidate>,
    /// A hint that shows how to name one of them.
    pub hint: String,
}

/// One match of an ambiguous reference.
#[derive(Debug)]
pub struct Candidate {
    /// A unique name.
    pub id: String,
    pub name: String,
    /// The next due time.
    pub when: String,
}

impl fmt::Display for Ambiguous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        let wide = |length: fn(&Candidate) -> &str| {
            self.candidates.iter().map(|it| length(it).chars().count()).max()
        };
        let id = wide(|it| &it.id).unwrap_or(0);
        let name = wide(|it| &it.name).unwrap_or(0);
        for it in &self.candidates {
            writeln!(f, "  {:<id$}  {:<name$}  {}", it.id, it.name, it.when)?;
        }
        f.write_str(&self.hint)
    }
}

impl Failed {
    /// Returns the exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::NotDone(_) => 1,
            Self::Usage(_) => 2,
            Self::Ambiguous(_) => 3,
            Self::Running(_) => 75,
            Self::Configuration(_) => 78,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::NotDone(_) => "failed",
            Self::Usage(_) => "usage",
            Self::Ambiguous(_) => "ambiguous",
            Self::Running(_) => "running",
            Self::Configuration(_) => "configuration",
        }
    }

    /// Returns the error as JSON.
    pub fn as_json(&self) -> serde_json::Value {
        let code = self.code();
        let kind = self.kind();
        match self {
            Self::Ambiguous(Ambiguous { message, candidates, hint }) => {
                let candidate = |it: &Candidate| json!({ "id": it.id, "name": it.name, "when": it.when });
                let candidates: Vec<_> = candidates.iter().map(candidate).collect();
                json!({ "code": code, "kind": kind, "message": message, "candidates": candidates, "hint": hint })
            }
            Self::NotDone(_) | Self::Usage(_) | Self::Running(_) | Self::Configuration(_) => {
                json!({ "code": code, "kind": kind, "message": self.to_string() })
            }
        }
    }

    /// Prints the error and returns its exit code.
    pub fn tell(&self, output: &Output) -> ExitCode {
        if output.json {
            output.voice.print(&json!({ "ok": false, "error": self.as_json() }).to_string());
        }
        output.voice.note(&format!("error: {self}"));
        ExitCode::from(self.code())
    }
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::NotDone(error.to_string())
    }
}

impl From<NotOpened> for Failed {
    fn from(error: NotOpened) -> Self {
        match error {
            NotOpened::Running(running) => Self::Running(running.to_string()),
            NotOpened::Unusable(text) => Self::Configuration(text),
            NotOpened::NotNow(text) => Self::NotDone(text),
        }
    }
}

impl From<Unanswered> for Failed {
    fn from(error: Unanswered) -> Self {
        Self::NotDone(error.to_string())
    }
}

impl From<Stopped> for Failed {
    fn from(error: Stopped) -> Self {
        Self::NotDone(error.to_string())
    }
}
