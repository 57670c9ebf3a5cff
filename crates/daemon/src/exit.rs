//! Errors of commands, with their exit codes and messages.

use std::fmt;
use std::process::ExitCode;

use journal::OpenError;
use serde_json::json;
use surfaces::client::ClientError;
use surfaces::terminal::TerminalError;

use crate::cli::Output;

/// An error of a command.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    Usage(String),
    /// A reference has several matches.
    #[error("{0}")]
    Ambiguous(Ambiguous),
    /// Another process uses the data directory.
    #[error("{0}")]
    AlreadyRunning(String),
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

impl CommandError {
    /// Returns the exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Ambiguous(_) => 3,
            Self::AlreadyRunning(_) => 75,
            Self::Configuration(_) => 78,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Failed(_) => "failed",
            Self::Usage(_) => "usage",
            Self::Ambiguous(_) => "ambiguous",
            Self::AlreadyRunning(_) => "running",
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
            Self::Failed(_) | Self::Usage(_) | Self::AlreadyRunning(_) | Self::Configuration(_) => {
                json!({ "code": code, "kind": kind, "message": self.to_string() })
            }
        }
    }

    /// Prints the error and returns its exit code.
    pub fn report(&self, output: &Output) -> ExitCode {
        if output.json {
            output.voice.print(&json!({ "ok": false, "error": self.as_json() }).to_string());
        }
        output.voice.note(&format!("error: {self}"));
        ExitCode::from(self.code())
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<OpenError> for CommandError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Running(running) => Self::AlreadyRunning(running.to_string()),
            OpenError::Unusable(text) => Self::Configuration(text),
            OpenError::Temporary(text) => Self::Failed(text),
        }
    }
}

impl From<ClientError> for CommandError {
    fn from(error: ClientError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<TerminalError> for CommandError {
    fn from(error: TerminalError) -> Self {
        Self::Failed(error.to_string())
    }
}
