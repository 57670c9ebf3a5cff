//! How the program ends: a code for programs, a sentence for people.

use std::fmt;
use std::process::ExitCode;

use journal::NotOpened;
use serde_json::json;
use surfaces::client::Unanswered;
use surfaces::terminal::Stopped;

use crate::cli::Output;

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// It could not be done.
    #[error("{0}")]
    NotDone(String),
    /// It was asked for wrongly.
    #[error("{0}")]
    Usage(String),
    /// More than one thing could be meant.
    #[error("{0}")]
    Ambiguous(Ambiguous),
    /// Another one runs.
    #[error("{0}")]
    Running(String),
    /// A setting, a file or a directory must change first.
    #[error("{0}")]
    Configuration(String),
}

/// What could be meant, and how to say which.
#[derive(Debug)]
pub struct Ambiguous {
    /// What is ambiguous.
    pub message: String,
    /// What could be meant.
    pub candidates: Vec<Candidate>,
    /// How to say which.
    pub hint: String,
}

/// One thing that could be meant.
#[derive(Debug)]
pub struct Candidate {
    /// What only this one is called.
    pub id: String,
    /// What it is.
    pub name: String,
    /// When it comes.
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
    /// The code to end with.
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

    /// It, for programs.
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

    /// Tells it, and gives the code to end with.
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
