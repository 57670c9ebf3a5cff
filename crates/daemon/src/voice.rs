//! The voice of the command line: lines for people and programs, whoever still listens.
//!
//! A reader that has gone, or a log on a full disk, is no reason to end: what matters is in the journal.

use std::io::Write;

/// Says `line` on stdout.
pub fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Says `line` on stderr.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
