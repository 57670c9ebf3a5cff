//! Output of the commands: plain lines on stdout.

use std::io::Write;

/// Prints a line. A closed pipe is ignored.
pub fn print_line(line: impl AsRef<str>) {
    write_stdout(&format!("{}\n", line.as_ref()));
}

/// Prints the beginning of a line.
pub fn print_partial(words: impl AsRef<str>) {
    write_stdout(words.as_ref());
}

fn write_stdout(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
