//! Which session the main conversation has: one bare id in one file.

use std::path::Path;
use std::sync::Arc;

use domain::conversation::SessionId;
use domain::schedule::Moment;
use jiff::{Timestamp, Zoned};

use super::history::{EventKind, History, SessionEvent};
use super::state::{Reading, StateFile};
use super::{Found, Trouble};
use crate::disk::Disk;

/// The longest session id we believe.
const LONGEST: usize = 256;

/// Why the id changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saving {
    /// A turn ended under this id. If it is a new one, the history is told how it came about.
    AfterTurn,
    /// A fork takes the place of main. Who swaps tells the history; the change is neither a creation nor a
    /// compaction.
    Swap,
}

/// The file `sessions.json`. Its name is older than its format.
#[derive(Clone)]
pub struct Sessions {
    file: StateFile,
}

impl Sessions {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("sessions.json")) }
    }

    /// The id of the main session: nothing, if there is none.
    pub fn load(&self, now: Timestamp) -> Result<Found<Option<SessionId>>, Trouble> {
        self.file.load(now, bare_id)
    }

    /// Returns the id in the file, and leaves the file as it is. There is none if the file is missing or blank, or holds
    /// something else than one id.
    pub fn named(&self) -> Result<Option<SessionId>, Trouble> {
        Ok(self.file.text()?.and_then(|text| one_id(&text)))
    }

    /// Makes `new` the main session, after telling `history` what that means.
    pub fn save(
        &mut self,
        new: &SessionId,
        why: Saving,
        history: &mut History,
        now: &Zoned,
    ) -> Result<(), Trouble> {
        if let (Saving::AfterTurn, Some(event)) = (why, self.event(new, now)?) {
            history.append(&event)?;
        }
        self.file.save(new.as_str().as_bytes())
    }

    /// Forgets the main session.
    pub fn delete(&mut self) -> Result<(), Trouble> {
        self.file.remove().map(|_| ())
    }

    fn event(&self, new: &SessionId, now: &Zoned) -> Result<Option<SessionEvent>, Trouble> {
        let old = self.load(now.timestamp())?.value;
        let kind = match &old {
            None => EventKind::Created,
            Some(old) if old == new => return Ok(None),
            Some(_) => EventKind::Compacted,
        };
        Ok(Some(SessionEvent { session: new.clone(), kind, at: Moment::of(now), parent: old }))
    }
}

/// The one id that `text` holds, if it does.
pub(super) fn one_id(text: &str) -> Option<SessionId> {
    match bare_id(text) {
        Ok(Reading::Whole(id)) => Some(id),
        Ok(Reading::Partly(..)) | Err(_) => None,
    }
}

/// Reads a file that holds one id.
pub(super) fn bare_id(text: &str) -> Result<Reading<SessionId>, String> {
    let id = SessionId::read(text).ok_or("it holds no session id, or one of an older format")?;
    let strange = id.as_str().chars().any(|c| c.is_control() || c.is_whitespace() || c == '\u{fffd}');
    if strange || id.as_str().len() > LONGEST {
        Err("it does not hold one session id".to_owned())
    } else {
        Ok(Reading::Whole(id))
    }
}
