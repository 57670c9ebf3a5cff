//! Raw mode of the terminal, restored when dropped.

use std::io::{self, Write};

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::{execute, terminal};

/// Size of a terminal that does not report it.
const DEFAULT_SIZE: (u16, u16) = (80, 24);

/// Guard of raw mode; restores the terminal when dropped.
#[derive(Debug)]
pub struct RawMode(());

impl RawMode {
    /// Enters raw mode.
    pub fn enter() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        let raw = Self(());
        execute!(io::stdout(), EnableBracketedPaste)?;
        Ok(raw)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // Errors cannot be reported here.
        let _ = execute!(io::stdout(), DisableBracketedPaste);
        let _ = terminal::disable_raw_mode();
        let _ = io::stdout().flush();
    }
}

/// Returns the columns and rows of the terminal.
pub fn size() -> (u16, u16) {
    let known = terminal::size().ok();
    known.filter(|(columns, rows)| *columns > 0 && *rows > 0).unwrap_or(DEFAULT_SIZE)
}
