//! Sessions of persistent routines: one file per routine, which contains a session id.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::conversation::SessionId;
use domain::schedule::ItemId;
use jiff::Timestamp;

use super::sessions::{parse_bare_id, single_id};
use super::state_file::StateFile;
use super::{FileContent, FileError};
use crate::disk::Disk;

#[derive(Clone)]
pub struct RoutineSessions {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
}

impl RoutineSessions {
    /// Uses the subdirectory `routine_sessions` of the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { disk, dir: state.join("routine_sessions") }
    }

    /// Loads the session of a routine, if it has one.
    pub fn load(
        &self,
        routine: &ItemId,
        now: Timestamp,
    ) -> Result<FileContent<Option<SessionId>>, FileError> {
        self.file(routine).load(now, parse_bare_id)
    }

    /// Reads the session of a routine without changing the file.
    pub fn peek(&self, routine: &ItemId) -> Result<Option<SessionId>, FileError> {
        Ok(self.file(routine).text()?.and_then(|text| single_id(&text)))
    }

    pub fn save(&mut self, routine: &ItemId, session: &SessionId) -> Result<(), FileError> {
        self.file(routine).save(session.as_str().as_bytes())
    }

    /// Deletes a routine's session. Returns whether it had one.
    pub fn delete(&mut self, routine: &ItemId) -> Result<bool, FileError> {
        self.file(routine).remove()
    }

    /// The routines that have a session, sorted. Ignores other files.
    pub fn routines(&self) -> Result<Vec<ItemId>, FileError> {
        let reading = || FileError::on_read(&self.dir);
        if self.disk.file_kind(&self.dir).map_err(reading())?.is_none() {
            return Ok(Vec::new());
        }
        let listed = self.disk.list(&self.dir).map_err(reading())?;
        let names =
            listed.iter().filter(|name| name.is_file()).filter_map(|name| name.path.file_name()?.to_str());
        let mut routines: Vec<ItemId> = names
            .filter(|name| !name.contains(".corrupt-"))
            .filter_map(|name| ItemId::parse(name).ok())
            .collect();
        routines.sort();
        Ok(routines)
    }

    fn file(&self, routine: &ItemId) -> StateFile {
        StateFile::new(self.disk.clone(), self.dir.join(routine.as_str()))
    }
}
