//! The log file, for machines without a service manager's log.
//!
//! Keeps at most two files of one megabyte. Write errors are ignored, and it never creates a data
//! directory.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

const MAX_BYTES: u64 = 1024 * 1024;

pub struct LogFile {
    path: PathBuf,
    open: Mutex<Option<OpenFile>>,
}

struct OpenFile {
    file: File,
    written: u64,
}

impl LogFile {
    /// Creates a log file at `path`. The file is created with the first line.
    pub fn new(path: PathBuf) -> Self {
        Self { path, open: Mutex::new(None) }
    }

    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.as_ref().is_some_and(|open| open.written >= MAX_BYTES) {
            *open = None;
            // If rotation fails, truncate the file: the size limit is more important than old
            // lines.
            if std::fs::rename(&self.path, self.path.with_extension("log.1")).is_err() {
                File::create(&self.path)?;
            }
        }
        if open.is_none() {
            *open = Some(self.open_file()?);
        }
        if let Some(open) = open.as_mut() {
            open.file.write_all(bytes)?;
            open.written += bytes.len() as u64;
        }
        Ok(())
    }

    fn open_file(&self) -> io::Result<OpenFile> {
        if let Some(dir) = self.path.parent().filter(|dir| !dir.exists()) {
            DirBuilder::new().mode(0o700).create(dir)?;
        }
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?;
        let written = file.metadata()?.len();
        Ok(OpenFile { file, written })
    }
}

impl Write for &LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Write errors are ignored.
        let _ = self.append(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = &'a LogFile;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SU-13: At most two files of one megabyte are kept, and no data directory is created.
    #[test]
    fn log_file_size_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let nowhere = dir.path().join("absent/logs/x.log");
        (&LogFile::new(nowhere.clone())).write_all(b"hello\n").unwrap();
        assert!(!nowhere.exists() && !dir.path().join("absent").exists());
        let path = dir.path().join("logs/ollim-bot.log");
        let book = LogFile::new(path.clone());
        let line = [b'x'; 1023].iter().chain(b"\n").copied().collect::<Vec<u8>>();
        for _ in 0..3 * 1024 + 5 {
            (&book).write_all(&line).unwrap();
        }
        let sizes: u64 = std::fs::read_dir(dir.path().join("logs"))
            .unwrap()
            .map(|it| it.unwrap().metadata().unwrap().len())
            .sum();
        assert_eq!(std::fs::read_dir(dir.path().join("logs")).unwrap().count(), 2);
        assert!((MAX_BYTES..=2 * MAX_BYTES + 1024).contains(&sizes), "{sizes}");
    }

    /// SU-13: If rotation fails, the file is truncated and stays bounded.
    #[test]
    fn failed_rotation_truncates_the_file() {
        let dir = tempfile::tempdir().unwrap();
        // A rename onto a directory that is not empty fails.
        std::fs::create_dir_all(dir.path().join("ollim-bot.log.1/mine")).unwrap();
        let path = dir.path().join("ollim-bot.log");
        let book = LogFile::new(path.clone());
        for _ in 0..3 * 1024 {
            (&book).write_all(&[b'x'; 1024]).unwrap();
        }
        assert!((1..=MAX_BYTES + 1024).contains(&std::fs::metadata(&path).unwrap().len()));
    }
}
