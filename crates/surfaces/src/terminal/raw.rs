//! Raw mode: the terminal hands us every key, until we are done with it, however that comes about.

use std::io::{self, Write};

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::{execute, terminal};

/// The size of a terminal that does not tell it.
const USUAL: (u16, u16) = (80, 24);

/// A terminal in raw mode. It is as it was when this is dropped.
#[derive(Debug)]
pub struct Raw(());

impl Raw {
    /// Every key from now on.
    pub fn enter() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        let raw = Self(());
        execute!(io::stdout(), EnableBracketedPaste)?;
        Ok(raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // Nobody is left to hear that it failed.
        let _ = execute!(io::stdout(), DisableBracketedPaste);
        let _ = terminal::disable_raw_mode();
        let _ = io::stdout().flush();
    }
}

/// The columns and rows of the terminal.
pub fn size() -> (u16, u16) {
    let known = terminal::size().ok();
    known.filter(|(columns, rows)| *columns > 0 && *rows > 0).unwrap_or(USUAL)
}
