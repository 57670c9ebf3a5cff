//! The voice of the command line: lines for people and programs, whoever still listens.
//!
//! A reader that has gone, or a log on a full disk, is no reason to end: what matters is in the journal.
//! What is said cannot command the terminal, whoever the words are from.

use std::io::Write;

use surfaces::terminal::readable;

/// Says `line` on stdout.
pub fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{}", readable(line));
}

/// Says `line` on stderr.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", readable(line));
}
