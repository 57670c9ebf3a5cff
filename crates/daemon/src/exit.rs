//! How the program ends: a code for programs, a sentence for people.

use std::process::ExitCode;

use journal::NotOpened;
use surfaces::client::Unanswered;
use surfaces::terminal::Stopped;

use crate::cli::Output;
use crate::voice::{note, print};

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// It could not be done.
    #[error("{0}")]
    NotDone(String),
    /// It was asked for wrongly.
    #[error("{0}")]
    Usage(String),
    /// Another one runs.
    #[error("{0}")]
    Running(String),
    /// A setting, a file or a directory must change first.
    #[error("{0}")]
    Configuration(String),
}

impl Failed {
    /// The code to end with.
    pub fn code(&self) -> u8 {
        match self {
            Self::NotDone(_) => 1,
            Self::Usage(_) => 2,
            Self::Running(_) => 75,
            Self::Configuration(_) => 78,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::NotDone(_) => "failed",
            Self::Usage(_) => "usage",
            Self::Running(_) => "running",
            Self::Configuration(_) => "configuration",
        }
    }

    /// It, for programs.
    pub fn as_json(&self) -> serde_json::Value {
        serde_json::json!({ "code": self.code(), "kind": self.kind(), "message": self.to_string() })
    }

    /// Tells it, and gives the code to end with.
    pub fn tell(&self, output: Output) -> ExitCode {
        if output.json {
            print(&serde_json::json!({ "ok": false, "error": self.as_json() }).to_string());
        }
        note(&format!("error: {self}"));
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
