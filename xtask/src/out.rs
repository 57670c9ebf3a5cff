//! Output of the commands: plain lines on stdout.

use std::io::Write;

/// Prints a line. A closed pipe is ignored.
pub fn say(line: impl AsRef<str>) {
    write(&format!("{}\n", line.as_ref()));
}

/// Prints the beginning of a line.
pub fn begin(words: impl AsRef<str>) {
    write(words.as_ref());
}

fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
