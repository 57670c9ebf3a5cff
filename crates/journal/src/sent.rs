//! The files derived from sent messages: `fork_messages.json` and `inquiries.json`.
//!
//! The database is written first and the files follow, after a crash at the next start. Entries of
//! other programs are adopted; a record of an unknown run is kept until it expires.

use std::sync::Arc;

use domain::assistant::StateEdit;
use domain::post::PostKey;
use domain::record::{MessageChange, Record, SentChange};
use jiff::Timestamp;

use crate::db::Database;
use crate::files::inquiries::Inquiries;
use crate::files::{Found, Trouble};
use crate::open::Place;
use crate::run_messages::RunMessageFile;

pub struct SentFiles {
    messages: RunMessageFile,
    inquiries: Inquiries,
}

impl SentFiles {
    /// The files of the data directory at `params.paths`.
    pub fn new(place: &Place) -> Self {
        let disk = &place.disk;
        let state = place.paths.state();
        let messages = RunMessageFile::new(Arc::clone(disk), &state);
        Self { messages, inquiries: Inquiries::new(Arc::clone(disk), &state) }
    }

    /// Updates the files after `records` were written. Failures are retried.
    pub fn follow(&mut self, records: &[Record], database: &mut Database) {
        for record in records {
            let Record::Message(MessageChange::Sent(change)) = record else { continue };
            match change {
                SentChange::Kept(origins, _) if origins.is_empty() => {}
                SentChange::Removed(ids) if ids.is_empty() => {}
                SentChange::Kept(..) | SentChange::Pruned(_) | SentChange::Removed(_) => {
                    self.messages.follow(database);
                }
                SentChange::Asks(_) | SentChange::Asked(_) => tell(self.show_inquiries(database)),
                SentChange::Showed(_) | SentChange::PutAway(_) => {}
            }
        }
    }

    /// Adopts entries of other programs and updates the files. Reports damage in `notices`.
    pub fn reconcile(
        &mut self,
        database: &mut Database,
        now: Timestamp,
        notices: &mut Vec<String>,
    ) -> Result<(), Trouble> {
        self.messages.reconcile(database, now, notices)?;
        let Found { value: inquiries, damage } = self.inquiries.load(now)?;
        notices.extend(damage.map(|damage| damage.to_string()));
        if let Err(error) = database.adopt_inquiries(&inquiries) {
            notices.push(format!("what other programs asked could not be read in: {error}."));
            return Ok(());
        }
        tell(self.show_inquiries(database));
        Ok(())
    }

    /// The changes of other programs in `fork_messages.json` since it was last read or written.
    pub fn changed(&mut self, database: &mut Database, at_once: bool, now: Timestamp) -> Vec<StateEdit> {
        self.messages.changed(database, at_once, now)
    }

    /// Returns whether `fork_messages.json` is up to date, as far as is known.
    pub fn is_quiet(&self) -> bool {
        self.messages.is_quiet()
    }

    /// Updates `fork_messages.json` with the Discord id of the message posted under `key`, if a run
    /// sent it.
    pub fn posted(&mut self, key: &PostKey, database: &mut Database) {
        match database.is_of_a_run(key) {
            Ok(true) => self.messages.follow(database),
            Ok(false) => {}
            Err(error) => tell(Err(error.to_string())),
        }
    }

    fn show_inquiries(&mut self, database: &Database) -> Result<(), String> {
        let inquiries = database.inquiries().map_err(|error| error.to_string())?;
        self.inquiries.replace(&inquiries).map_err(|error| error.to_string())
    }
}

fn tell(followed: Result<(), String>) {
    if let Err(error) = followed {
        tracing::warn!(error, "A file of what was sent could not be written; the next start will.");
    }
}
