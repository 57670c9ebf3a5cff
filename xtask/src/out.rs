//! How the commands here speak: plain lines on standard output.

use std::io::Write;

/// Says one line. A reader that hung up early is no failure of ours.
pub fn say(line: impl AsRef<str>) {
    write(&format!("{}\n", line.as_ref()));
}

/// Says the beginning of a line whose end follows.
pub fn begin(words: impl AsRef<str>) {
    write(words.as_ref());
}

fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
