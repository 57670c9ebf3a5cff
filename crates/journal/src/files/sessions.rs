//! The session of the main conversation: a file that contains one id.

use std::path::Path;
use std::sync::Arc;

use domain::conversation::SessionId;
use domain::schedule::Moment;
use jiff::{Timestamp, Zoned};

use super::session_history::{EventKind, SessionEvent, SessionHistory};
use super::state_file::{ParsedText, StateFile};
use super::{FileContent, FileError};
use crate::disk::Disk;

/// The maximum length of a session id.
const MAX_ID_LENGTH: usize = 256;

/// Why the main session is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveReason {
    /// A turn ended with this session. A new one is recorded in the history.
    AfterTurn,
    /// A fork replaces main. The caller records the swap in the history, so it is recorded neither
    /// as a creation nor as a compaction.
    Swap,
}

/// The file `sessions.json`. It is not JSON; the name is older than the format.
#[derive(Clone)]
pub struct MainSessionFile {
    file: StateFile,
}

impl MainSessionFile {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("sessions.json")) }
    }

    /// Loads the main session id, if there is one.
    pub fn load(&self, now: Timestamp) -> Result<FileContent<Option<SessionId>>, FileError> {
        self.file.load(now, parse_bare_id)
    }

    /// Reads the id without changing the file. `None` if the file is missing or blank, or does not
    /// contain exactly one id.
    pub fn peek(&self) -> Result<Option<SessionId>, FileError> {
        Ok(self.file.text()?.and_then(|text| single_id(&text)))
    }

    /// Makes `new` the main session, after recording the change in `history`.
    pub fn save(
        &mut self,
        new: &SessionId,
        why: SaveReason,
        history: &mut SessionHistory,
        now: &Zoned,
    ) -> Result<(), FileError> {
        if let (SaveReason::AfterTurn, Some(event)) = (why, self.history_event(new, now)?) {
            history.append(&event)?;
        }
        self.file.save(new.as_str().as_bytes())
    }

    pub fn delete(&mut self) -> Result<(), FileError> {
        self.file.remove().map(|_| ())
    }

    fn history_event(&self, new: &SessionId, now: &Zoned) -> Result<Option<SessionEvent>, FileError> {
        let old = self.load(now.timestamp())?.value;
        let kind = match &old {
            None => EventKind::Created,
            Some(old) if old == new => return Ok(None),
            Some(_) => EventKind::Compacted,
        };
        Ok(Some(SessionEvent { session: new.clone(), kind, at: Moment::of(now), parent: old }))
    }
}

/// The session id in `text`, if it contains exactly one.
pub(super) fn single_id(text: &str) -> Option<SessionId> {
    match parse_bare_id(text) {
        Ok(ParsedText::Complete(id)) => Some(id),
        Ok(ParsedText::Partial(..)) | Err(_) => None,
    }
}

/// Parses a file that contains one id.
pub(super) fn parse_bare_id(text: &str) -> Result<ParsedText<SessionId>, String> {
    let id = SessionId::parse(text).ok_or("it holds no session id, or one of an older format")?;
    let strange = id.as_str().chars().any(|c| c.is_control() || c.is_whitespace() || c == '\u{fffd}');
    if strange || id.as_str().len() > MAX_ID_LENGTH {
        Err("it does not hold one session id".to_owned())
    } else {
        Ok(ParsedText::Complete(id))
    }
}
