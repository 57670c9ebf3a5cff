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

use super::{Damage, Found, Trouble};
use crate::disk::{self, Disk, Seen};

/// The number of last lines that are checked for a duplicate before an append.
const RECENT: usize = 8;

#[derive(Clone)]
pub struct History {
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

/// Result of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The event is the new last line.
    Now,
    /// The event was already among the last lines, because a crash caused a second attempt.
    Before,
}

/// Content of the history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    pub events: Vec<SessionEvent>,
    /// Number of unreadable lines.
    pub skipped: usize,
}

impl History {
    /// Opens the file in the directory `state`, and terminates its last line if a crash cut it off.
    pub fn open(disk: Arc<dyn Disk>, state: &Path, now: Timestamp) -> Result<Found<Self>, Trouble> {
        let value = Self { disk, path: state.join("session_history.jsonl") };
        let damage = value.seal(now)?;
        Ok(Found { value, damage })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an event unless one of the last lines is identical.
    pub fn append(&mut self, event: &SessionEvent) -> Result<Appended, Trouble> {
        let line = event.to_line();
        let tail = self.tail()?;
        let (whole, torn) = tail::lines(&tail);
        let recent = &whole[whole.len().saturating_sub(RECENT)..];
        if torn == line.as_bytes() || (torn.is_empty() && recent.contains(&line.as_bytes())) {
            // The earlier attempt may not be durable, so the file is synced again.
            let rest: &[u8] = if torn.is_empty() { b"" } else { b"\n" };
            self.write(|disk, path| {
                disk.append(path, rest)?;
                disk.sync_dir(path.parent().unwrap_or(path))
            })?;
            return Ok(Appended::Before);
        }
        let start = if torn.is_empty() { "" } else { "\n" };
        self.write(|disk, path| disk::append_line(disk, path, format!("{start}{line}").as_bytes()))?;
        Ok(Appended::Now)
    }

    /// Reads the whole history.
    pub fn told(&self) -> Result<Told, Trouble> {
        match self.disk.look(&self.path).map_err(Trouble::reading(&self.path))? {
            None => Ok(Told::default()),
            Some(_) => Ok(told(&self.disk.read(&self.path).map_err(Trouble::reading(&self.path))?)),
        }
    }

    /// The events in the last lines, oldest first, without reading the whole file.
    pub fn recent(&self) -> Result<Vec<SessionEvent>, Trouble> {
        Ok(told(&self.tail()?).events)
    }

    /// The time since the main session was created, if the history contains that event.
    pub fn age(&self, now: Timestamp) -> Result<Option<SignedDuration>, Trouble> {
        let created = tail::search(&*self.disk, &self.path, |bytes| {
            let events = told(bytes).events;
            events.iter().rev().find(|event| event.kind == EventKind::Created).map(|event| event.at.at)
        });
        let created = created.map_err(Trouble::reading(&self.path))?;
        Ok(created.map(|created| now.duration_since(created)))
    }

    fn seal(&self, now: Timestamp) -> Result<Option<Damage>, Trouble> {
        match self.disk.look(&self.path).map_err(Trouble::reading(&self.path))? {
            None | Some(Seen::File(0)) => return Ok(None),
            Some(Seen::File(_)) => {}
            Some(Seen::Directory | Seen::Strange) => {
                let kept_as = self.write(|disk, path| disk::set_aside(disk, path, now))?;
                return Ok(Some(self.damage(kept_as, "it is not a plain file".to_owned())));
            }
        }
        let torn = tail::torn(&*self.disk, &self.path).map_err(Trouble::reading(&self.path))?;
        if torn.is_empty() {
            return Ok(None);
        }
        let damage = match SessionEvent::read(&torn) {
            Some(_) => None,
            None => {
                let kept_as = self.write(|disk, path| disk::keep_copy(disk, path, &torn, now))?;
                let reason =
                    format!("its last line was cut off after {} bytes; the others are whole", torn.len());
                Some(self.damage(kept_as, reason))
            }
        };
        self.write(|disk, path| disk.append(path, b"\n"))?;
        Ok(damage)
    }

    fn tail(&self) -> Result<Vec<u8>, Trouble> {
        tail::last(&*self.disk, &self.path).map_err(Trouble::reading(&self.path))
    }

    fn write<T>(&self, how: impl FnOnce(&dyn Disk, &Path) -> std::io::Result<T>) -> Result<T, Trouble> {
        how(&*self.disk, &self.path).map_err(Trouble::writing(&self.path))
    }

    fn damage(&self, kept_as: PathBuf, reason: String) -> Damage {
        Damage { path: self.path.clone(), kept_as, reason }
    }
}

fn told(bytes: &[u8]) -> Told {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let mut told = Told::default();
    for line in lines {
        match SessionEvent::read(line) {
            Some(event) => told.events.push(event),
            None => told.skipped += 1,
        }
    }
    told
}
