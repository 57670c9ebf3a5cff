//! Output of the command line, for a terminal or for a caller in this process.
//!
//! Write errors are ignored, because everything important is in the journal. Control characters are
//! removed, so text cannot control the terminal.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use domain::label::Label;
use surfaces::terminal::readable;
use tools::Labelled;

/// Prints `line` to stdout.
pub fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{}", readable(line));
}

/// Prints `line` to stderr.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", readable(line));
}

/// The captured output of a command.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    lines: Vec<String>,
    label: Label,
}

/// The target of a command's output.
#[derive(Clone, Debug, Default)]
pub enum Voice {
    /// stdout and stderr.
    #[default]
    Terminal,
    /// A buffer that the caller reads when the command is done.
    Listener(Arc<Mutex<Heard>>),
}

impl Voice {
    /// Creates a printer that captures the output.
    pub fn listener() -> Self {
        Self::Listener(Arc::default())
    }

    /// Prints a line of the result.
    pub fn print(&self, line: &str) {
        match self {
            Self::Terminal => print(line),
            Self::Listener(heard) => keep(heard, line),
        }
    }

    /// Prints a note in addition to the result.
    pub fn note(&self, line: &str) {
        match self {
            Self::Terminal => note(line),
            Self::Listener(heard) => keep(heard, line),
        }
    }

    /// Records that text with this label is printed.
    pub fn know(&self, label: Label) {
        if let Self::Listener(heard) = self {
            let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.label = heard.label.join(label);
        }
    }

    /// Returns the captured output and its label.
    pub fn heard(&self) -> Labelled {
        match self {
            Self::Terminal => Labelled { text: String::new(), label: Label::PLAIN },
            Self::Listener(heard) => {
                let heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                Labelled { text: heard.lines.join("\n"), label: heard.label }
            }
        }
    }
}

fn keep(heard: &Mutex<Heard>, line: &str) {
    heard.lock().unwrap_or_else(PoisonError::into_inner).lines.push(readable(line).to_string());
}
