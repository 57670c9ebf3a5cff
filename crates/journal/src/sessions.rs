//! The session files beside the log: who main is, and what happened to sessions.

use std::io;

use domain::conversation::SessionId;

use crate::db::FileChange;
use crate::open::Place;

/// `sessions.json` and `session_history.jsonl`.
pub struct SessionFiles {}

impl SessionFiles {
    /// The files of a data directory.
    pub fn open(_place: &Place, _notices: &mut Vec<String>) -> Self {
        Self {}
    }

    /// The session that the file names.
    pub fn stored(&self) -> Option<SessionId> {
        None
    }

    /// Makes the changes that the database asks for. Making one twice is the same as making it once.
    pub fn make(&mut self, _changes: &[FileChange]) -> io::Result<()> {
        Ok(())
    }

    /// Writes the session that the database knows, because the file names `stored`; returns what to tell.
    pub fn restore(&mut self, _session: &SessionId, _stored: Option<&SessionId>) -> Option<String> {
        None
    }
}
