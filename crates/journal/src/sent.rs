//! The files of what was sent, beside the log: `fork_messages.json` and `inquiries.json` show what the log knows.
//!
//! The log is written first. The files follow, and after a crash they are made to follow at the next start. What
//! another program put into them is taken over: a record whose run we do not know is kept until it expires.

use std::sync::Arc;

use domain::post::PostKey;
use domain::record::{MessageChange, Record, SentChange};
use jiff::Timestamp;

use crate::db::Database;
use crate::files::fork_messages::ForkMessages;
use crate::files::inquiries::Inquiries;
use crate::files::{Found, Trouble};
use crate::open::Place;

/// Both files.
pub struct SentFiles {
    messages: ForkMessages,
    inquiries: Inquiries,
}

impl SentFiles {
    /// The files of the data directory at `place`.
    pub fn new(place: &Place) -> Self {
        let (disk, state) = (&place.disk, place.paths.state());
        let messages = ForkMessages::new(Arc::clone(disk), &state);
        Self { messages, inquiries: Inquiries::new(Arc::clone(disk), &state) }
    }

    /// Lets the files say what the log knows after `records` were written. If that fails, the next start does it.
    pub fn follow(&mut self, records: &[Record], database: &Database) {
        for record in records {
            let Record::Message(MessageChange::Sent(change)) = record else { continue };
            tell(match change {
                SentChange::Kept(origins) if origins.is_empty() => Ok(()),
                SentChange::Kept(_) | SentChange::Pruned(_) => self.show_messages(database),
                SentChange::Asks(_) | SentChange::Asked(_) => self.show_inquiries(database),
                SentChange::Showed(_) | SentChange::PutAway(_) => Ok(()),
            });
        }
    }

    /// Takes over what others left in the files, and lets them follow the log again; damage is told in `notices`.
    pub fn reconcile(
        &mut self,
        database: &mut Database,
        now: Timestamp,
        notices: &mut Vec<String>,
    ) -> Result<(), Trouble> {
        let Found { value: messages, damage } = self.messages.load(now)?;
        notices.extend(damage.map(|damage| damage.to_string()));
        let Found { value: inquiries, damage } = self.inquiries.load(now)?;
        notices.extend(damage.map(|damage| damage.to_string()));
        if let Err(error) = database.adopt(&messages, &inquiries) {
            notices.push(format!("what other programs sent could not be read in: {error}."));
            return Ok(());
        }
        if let Err(error) = database.prune_origins(now) {
            tracing::warn!(%error, "Old records of sent messages could not be removed; the next start will.");
        }
        tell(self.show_messages(database));
        tell(self.show_inquiries(database));
        Ok(())
    }

    /// Adds the id that Discord gave to what was posted under `key`, if a run sent it.
    pub fn posted(&mut self, key: &PostKey, database: &Database) {
        match database.is_of_a_run(key) {
            Ok(true) => tell(self.show_messages(database)),
            Ok(false) => {}
            Err(error) => tell(Err(error.to_string())),
        }
    }

    fn show_messages(&mut self, database: &Database) -> Result<(), String> {
        let origins = database.fork_messages().map_err(|error| error.to_string())?;
        self.messages.replace(&origins).map_err(|error| error.to_string())
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
