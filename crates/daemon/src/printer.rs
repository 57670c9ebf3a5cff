//! Output of the command line, for a terminal or for a caller in this process.
//!
//! Write errors are ignored, because everything important is in the journal. Control characters are
//! removed, so text cannot control the terminal.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use domain::label::Label;
use surfaces::terminal::strip_control;
use tools::LabelledText;

/// Prints `line` to stdout.
pub fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{}", strip_control(line));
}

/// Prints `line` to stderr.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", strip_control(line));
}

/// The captured output of a command.
#[derive(Clone, Debug, Default)]
pub struct CapturedOutput {
    lines: Vec<String>,
    label: Label,
}

/// The target of a command's output.
#[derive(Clone, Debug, Default)]
pub enum Printer {
    /// stdout and stderr.
    #[default]
    Terminal,
    /// A buffer that the caller reads when the command is done.
    Capture(Arc<Mutex<CapturedOutput>>),
}

impl Printer {
    /// Creates a printer that captures the output.
    pub fn capture() -> Self {
        Self::Capture(Arc::default())
    }

    /// Prints a line of the result.
    pub fn print(&self, line: &str) {
        match self {
            Self::Terminal => print(line),
            Self::Capture(heard) => capture_line(heard, line),
        }
    }

    /// Prints a note in addition to the result.
    pub fn note(&self, line: &str) {
        match self {
            Self::Terminal => note(line),
            Self::Capture(heard) => capture_line(heard, line),
        }
    }

    /// Records that text with this label is printed.
    pub fn record_label(&self, label: Label) {
        if let Self::Capture(heard) = self {
            let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.label = heard.label.join(label);
        }
    }

    /// Returns the captured output and its label.
    pub fn captured(&self) -> LabelledText {
        match self {
            Self::Terminal => LabelledText { text: String::new(), label: Label::PLAIN },
            Self::Capture(heard) => {
                let heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                LabelledText { text: heard.lines.join("\n"), label: heard.label }
            }
        }
    }
}

fn capture_line(heard: &Mutex<CapturedOutput>, line: &str) {
    heard.lock().unwrap_or_else(PoisonError::into_inner).lines.push(strip_control(line).to_string());
}
