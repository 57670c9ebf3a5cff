//! A progress line on the terminal, which is erased at the end.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use journal::moving::Progress;

use super::{files, size};
use crate::cli::Output;
use crate::voice::Voice;

/// The least time between two changes of the line.
const EVERY: Duration = Duration::from_millis(100);

/// The progress line.
pub struct Ticking<W: Write = Box<dyn Write>> {
    verb: &'static str,
    screen: Option<W>,
    shown: Option<Instant>,
}

impl Ticking {
    /// Creates a line that begins with `verb`; it is shown only if the output is a terminal.
    pub fn new(verb: &'static str, output: &Output) -> Self {
        let seen = matches!(output.voice, Voice::Terminal) && std::io::stderr().is_terminal();
        let screen: Option<Box<dyn Write>> = if seen { Some(Box::new(std::io::stderr())) } else { None };
        Self { verb, screen, shown: None }
    }
}

impl<W: Write> Ticking<W> {
    /// Shows the progress, unless the last change was just before `now`.
    pub fn tick(&mut self, progress: Progress, now: Instant) {
        let Some(screen) = &mut self.screen else { return };
        if self.shown.is_some_and(|shown| now.duration_since(shown) < EVERY) {
            return;
        }
        self.shown = Some(now);
        let files = files(progress.files);
        let size = size(progress.bytes);
        // A failed write to the terminal is ignored.
        let _ = write!(screen, "\r\x1b[K{}: {files}, {size}", self.verb);
        let _ = screen.flush();
    }
}

impl<W: Write> Drop for Ticking<W> {
    fn drop(&mut self) {
        if let (Some(screen), Some(_)) = (&mut self.screen, self.shown) {
            let _ = write!(screen, "\r\x1b[K");
            let _ = screen.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_ticks_no_faster_than_it_can_be_read_and_is_gone_afterwards() {
        let mut seen = Vec::new();
        let begin = Instant::now();
        let mut line = Ticking { verb: "packing", screen: Some(&mut seen), shown: None };
        for (millis, files) in [(0, 1), (50, 2), (99, 3), (100, 4), (150, 5)] {
            let progress = Progress { files, bytes: files * 1_500_000 };
            line.tick(progress, begin + Duration::from_millis(millis));
        }
        drop(line);
        assert_eq!(
            String::from_utf8(seen).unwrap(),
            "\r\x1b[Kpacking: 1 file, 1.5 MB\r\x1b[Kpacking: 4 files, 6.0 MB\r\x1b[K"
        );
    }

    #[test]
    fn who_is_no_terminal_sees_nothing() {
        let mut line = Ticking::<Vec<u8>> { verb: "packing", screen: None, shown: None };
        line.tick(Progress { files: 1, bytes: 1 }, Instant::now());
        assert!(line.shown.is_none());
    }
}
