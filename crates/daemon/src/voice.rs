//! The voice of the command line: lines for people and programs, whoever still listens.
//!
//! A reader that has gone, or a log on a full disk, is no reason to end: what matters is in the journal.
//! What is said cannot command the terminal, whoever the words are from.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use domain::label::Label;
use surfaces::terminal::readable;
use tools::Labelled;

/// Says `line` on stdout.
pub fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{}", readable(line));
}

/// Says `line` on stderr.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", readable(line));
}

/// What a command said to a listener.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    lines: Vec<String>,
    label: Label,
}

/// Who hears what a command says.
#[derive(Clone, Debug, Default)]
pub enum Voice {
    /// Whoever sits at the terminal.
    #[default]
    Terminal,
    /// Somebody in this process, who reads it when the command is done.
    Listener(Arc<Mutex<Heard>>),
}

impl Voice {
    /// Somebody who has heard nothing yet.
    pub fn listener() -> Self {
        Self::Listener(Arc::default())
    }

    /// Says `line` as an answer.
    pub fn print(&self, line: &str) {
        match self {
            Self::Terminal => print(line),
            Self::Listener(heard) => keep(heard, line),
        }
    }

    /// Says `line` beside the answer.
    pub fn note(&self, line: &str) {
        match self {
            Self::Terminal => note(line),
            Self::Listener(heard) => keep(heard, line),
        }
    }

    /// Notes that something with this label is said.
    pub fn know(&self, label: Label) {
        if let Self::Listener(heard) = self {
            let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.label = heard.label.join(label);
        }
    }

    /// All that was said to a listener until now, and its label.
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
