//! The files derived from sent messages: `fork_messages.json` and `inquiries.json`.
//!
//! The database is written first and the files follow, after a crash at the next start. Entries of
//! other programs are adopted; a record of an unknown run is kept until it expires.

use std::sync::Arc;

use domain::assistant::StateEdit;
use domain::outbox::OutboxKey;
use domain::record::{MessageChange, Record, SentChange};
use jiff::Timestamp;

use crate::db::Database;
use crate::files::inquiries::InquiriesFile;
use crate::files::{FileContent, FileError};
use crate::open::OpenParams;
use crate::run_message_file::RunMessageFile;

pub struct SentFiles {
    messages: RunMessageFile,
    inquiries: InquiriesFile,
}

impl SentFiles {
    /// The files of the data directory at `params.paths`.
    pub fn new(params: &OpenParams) -> Self {
        let disk = &params.disk;
        let state = params.paths.state();
        let messages = RunMessageFile::new(Arc::clone(disk), &state);
        Self { messages, inquiries: InquiriesFile::new(Arc::clone(disk), &state) }
    }

    /// Updates the files after `records` were written. Failures are retried.
    pub fn apply(&mut self, records: &[Record], database: &mut Database) {
        for record in records {
            let Record::Message(MessageChange::Sent(change)) = record else { continue };
            match change {
                SentChange::OriginsKept(origins, _) if origins.is_empty() => {}
                SentChange::Removed(ids) if ids.is_empty() => {}
                SentChange::OriginsKept(..) | SentChange::Pruned(_) | SentChange::Removed(_) => {
                    self.messages.apply(database);
                }
                SentChange::ButtonRegistered(_) | SentChange::ButtonUsed(_) => {
                    log_failure(self.write_inquiries(database))
                }
                SentChange::RunShowed(_) | SentChange::MessageHidden(_) => {}
            }
        }
    }

    /// Adopts entries of other programs and updates the files. Reports damage in `notices`.
    pub fn reconcile(
        &mut self,
        database: &mut Database,
        now: Timestamp,
        notices: &mut Vec<String>,
    ) -> Result<(), FileError> {
        self.messages.reconcile(database, now, notices)?;
        let FileContent { value: inquiries, damage } = self.inquiries.load(now)?;
        notices.extend(damage.map(|damage| damage.to_string()));
        if let Err(error) = database.import_inquiries(&inquiries) {
            notices.push(format!("what other programs asked could not be read in: {error}."));
            return Ok(());
        }
        log_failure(self.write_inquiries(database));
        Ok(())
    }

    /// The changes of other programs in `fork_messages.json` since it was last read or written.
    pub fn external_edits(
        &mut self,
        database: &mut Database,
        at_once: bool,
        now: Timestamp,
    ) -> Vec<StateEdit> {
        self.messages.external_edits(database, at_once, now)
    }

    /// Returns whether `fork_messages.json` is up to date, as far as is known.
    pub fn is_in_sync(&self) -> bool {
        self.messages.is_in_sync()
    }

    /// Updates `fork_messages.json` with the Discord id of the message posted under `key`, if a run
    /// sent it.
    pub fn on_receipt(&mut self, key: &OutboxKey, database: &mut Database) {
        match database.is_from_run(key) {
            Ok(true) => self.messages.apply(database),
            Ok(false) => {}
            Err(error) => log_failure(Err(error.to_string())),
        }
    }

    fn write_inquiries(&mut self, database: &Database) -> Result<(), String> {
        let inquiries = database.inquiries().map_err(|error| error.to_string())?;
        self.inquiries.replace(&inquiries).map_err(|error| error.to_string())
    }
}

fn log_failure(followed: Result<(), String>) {
    if let Err(error) = followed {
        tracing::warn!(error, "A file of what was sent could not be written; the next start will.");
    }
}
