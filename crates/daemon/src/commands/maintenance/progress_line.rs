//! A progress line on the terminal, which is erased at the end.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use journal::archive::Progress;

use super::{file_count, format_size};
use crate::cli::Output;
use crate::printer::Printer;

/// The least time between two changes of the line.
const INTERVAL: Duration = Duration::from_millis(100);

/// The progress line.
pub struct ProgressLine<W: Write = Box<dyn Write>> {
    verb: &'static str,
    screen: Option<W>,
    shown: Option<Instant>,
}

impl ProgressLine {
    /// Creates a line that begins with `verb`; it is shown only if the output is a terminal.
    pub fn new(verb: &'static str, output: &Output) -> Self {
        let seen = matches!(output.voice, Printer::Terminal) && std::io::stderr().is_terminal();
        let screen: Option<Box<dyn Write>> = if seen { Some(Box::new(std::io::stderr())) } else { None };
        Self { verb, screen, shown: None }
    }
}

impl<W: Write> ProgressLine<W> {
    /// Shows the progress, unless the last change was just before `now`.
    pub fn update(&mut self, progress: Progress, now: Instant) {
        let Some(screen) = &mut self.screen else { return };
        if self.shown.is_some_and(|shown| now.duration_since(shown) < INTERVAL) {
            return;
        }
        self.shown = Some(now);
        let files = file_count(progress.files);
        let size = format_size(progress.bytes);
        // A failed write to the terminal is ignored.
        let _ = write!(screen, "\r\x1b[K{}: {files}, {size}", self.verb);
        let _ = screen.flush();
    }
}

impl<W: Write> Drop for ProgressLine<W> {
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
    fn progress_line_is_rate_limited_and_erased() {
        let mut seen = Vec::new();
        let begin = Instant::now();
        let mut line = ProgressLine { verb: "packing", screen: Some(&mut seen), shown: None };
        for (millis, files) in [(0, 1), (50, 2), (99, 3), (100, 4), (150, 5)] {
            let progress = Progress { files, bytes: files * 1_500_000 };
            line.update(progress, begin + Duration::from_millis(millis));
        }
        drop(line);
        assert_eq!(
            String::from_utf8(seen).unwrap(),
            "\r\x1b[Kpacking: 1 file, 1.5 MB\r\x1b[Kpacking: 4 files, 6.0 MB\r\x1b[K"
        );
    }

    #[test]
    fn progress_line_needs_a_terminal() {
        let mut line = ProgressLine::<Vec<u8>> { verb: "packing", screen: None, shown: None };
        line.update(Progress { files: 1, bytes: 1 }, Instant::now());
        assert!(line.shown.is_none());
    }
}
