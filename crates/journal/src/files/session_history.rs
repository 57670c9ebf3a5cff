//! The history of sessions: `session_history.jsonl`, an append-only file with one event per line.
//!
//! A line cut off by a crash is copied to another file and terminated with a line feed; lines are
//! never rewritten. Unreadable lines are skipped and counted.

mod event;
mod tail;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

pub use event::{EventKind, SessionEvent};

use super::{Damage, FileContent, FileError};
use crate::disk::{self, Disk, FileKind};

/// The number of last lines that are checked for a duplicate before an append.
const RECENT_LINES: usize = 8;

#[derive(Clone)]
pub struct SessionHistory {
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

/// Result of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOutcome {
    /// The event is the new last line.
    Added,
    /// The event was already among the last lines, because a crash caused a second attempt.
    Duplicate,
}

/// Content of the history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryContent {
    pub events: Vec<SessionEvent>,
    /// Number of unreadable lines.
    pub skipped: usize,
}

impl SessionHistory {
    /// Opens the file in the directory `state`, and terminates its last line if a crash cut it off.
    pub fn open(disk: Arc<dyn Disk>, state: &Path, now: Timestamp) -> Result<FileContent<Self>, FileError> {
        let value = Self { disk, path: state.join("session_history.jsonl") };
        let damage = value.terminate_last_line(now)?;
        Ok(FileContent { value, damage })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an event unless one of the last lines is identical.
    pub fn append(&mut self, event: &SessionEvent) -> Result<AppendOutcome, FileError> {
        let line = event.to_line();
        let tail = self.tail()?;
        let (whole, torn) = tail::split_lines(&tail);
        let recent = &whole[whole.len().saturating_sub(RECENT_LINES)..];
        if torn == line.as_bytes() || (torn.is_empty() && recent.contains(&line.as_bytes())) {
            // The earlier attempt may not be durable, so the file is synced again.
            let rest: &[u8] = if torn.is_empty() { b"" } else { b"\n" };
            self.with_disk(|disk, path| {
                disk.append(path, rest)?;
                disk.sync_dir(path.parent().unwrap_or(path))
            })?;
            return Ok(AppendOutcome::Duplicate);
        }
        let start = if torn.is_empty() { "" } else { "\n" };
        self.with_disk(|disk, path| disk::append_line(disk, path, format!("{start}{line}").as_bytes()))?;
        Ok(AppendOutcome::Added)
    }

    /// Reads the whole history.
    pub fn read_all(&self) -> Result<HistoryContent, FileError> {
        match self.disk.file_kind(&self.path).map_err(FileError::on_read(&self.path))? {
            None => Ok(HistoryContent::default()),
            Some(_) => Ok(parse_events(&self.disk.read(&self.path).map_err(FileError::on_read(&self.path))?)),
        }
    }

    /// The events in the last lines, oldest first, without reading the whole file.
    pub fn recent_events(&self) -> Result<Vec<SessionEvent>, FileError> {
        Ok(parse_events(&self.tail()?).events)
    }

    /// The time since the main session was created, if the history contains that event.
    pub fn main_session_age(&self, now: Timestamp) -> Result<Option<SignedDuration>, FileError> {
        let created = tail::search(&*self.disk, &self.path, |bytes| {
            let events = parse_events(bytes).events;
            events.iter().rev().find(|event| event.kind == EventKind::Created).map(|event| event.at.at)
        });
        let created = created.map_err(FileError::on_read(&self.path))?;
        Ok(created.map(|created| now.duration_since(created)))
    }

    fn terminate_last_line(&self, now: Timestamp) -> Result<Option<Damage>, FileError> {
        match self.disk.file_kind(&self.path).map_err(FileError::on_read(&self.path))? {
            None | Some(FileKind::File(0)) => return Ok(None),
            Some(FileKind::File(_)) => {}
            Some(FileKind::Directory | FileKind::Other) => {
                let kept_as = self.with_disk(|disk, path| disk::set_aside(disk, path, now))?;
                return Ok(Some(self.damage(kept_as, "it is not a plain file".to_owned())));
            }
        }
        let torn =
            tail::unterminated_line(&*self.disk, &self.path).map_err(FileError::on_read(&self.path))?;
        if torn.is_empty() {
            return Ok(None);
        }
        let damage = match SessionEvent::read(&torn) {
            Some(_) => None,
            None => {
                let kept_as = self.with_disk(|disk, path| disk::save_damaged_copy(disk, path, &torn, now))?;
                let reason =
                    format!("its last line was cut off after {} bytes; the others are whole", torn.len());
                Some(self.damage(kept_as, reason))
            }
        };
        self.with_disk(|disk, path| disk.append(path, b"\n"))?;
        Ok(damage)
    }

    fn tail(&self) -> Result<Vec<u8>, FileError> {
        tail::read_tail(&*self.disk, &self.path).map_err(FileError::on_read(&self.path))
    }

    fn with_disk<T>(&self, how: impl FnOnce(&dyn Disk, &Path) -> std::io::Result<T>) -> Result<T, FileError> {
        how(&*self.disk, &self.path).map_err(FileError::on_write(&self.path))
    }

    fn damage(&self, kept_as: PathBuf, reason: String) -> Damage {
        Damage { path: self.path.clone(), kept_as, reason }
    }
}

fn parse_events(bytes: &[u8]) -> HistoryContent {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let mut told = HistoryContent::default();
    for line in lines {
        match SessionEvent::read(line) {
            Some(event) => told.events.push(event),
            None => told.skipped += 1,
        }
    }
    told
}
