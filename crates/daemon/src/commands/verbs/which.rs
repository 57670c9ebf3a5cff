//! Resolves references to jobs from the files, with candidates; other references are left to the
//! assistant.

use std::sync::Arc;

use domain::schedule::{Reminder, Routine};
use engine::ports::Clock;
use journal::files::items::Items;

use super::Speaker;
use crate::clock::SystemClock;
use crate::commands::jobs::{Job, Row, finding, rows};
use crate::exit::Failed;

impl Speaker<'_> {
    /// Returns the id of the one job that `words` mean, or `words` if no job matches.
    pub(super) fn which(&self, words: &str, verb: &str) -> Result<String, Failed> {
        let words = words.trim();
        let zone = &self.settings.zone.value;
        if words.is_empty() || words.starts_with("inbox:") {
            return Ok(words.to_owned());
        }
        let mut rows = self.rows::<Reminder>()?;
        rows.extend(self.rows::<Routine>()?);
        rows.retain(|row| row.job.is_ok());
        let now = SystemClock::new(zone.clone()).now();
        let hint = |row: &Row| format!("use an id: ollim-bot {verb} {}", row.name());
        let found = finding::only(rows, words, ("thing", hint), (&now, zone))?;
        Ok(found.map_or_else(|| words.to_owned(), |row| row.name().to_owned()))
    }

    fn rows<K: Job>(&self) -> Result<Vec<Row>, Failed> {
        let root = self.settings.paths.root();
        let items = Items::<K>::new(Arc::clone(&self.disk), root, self.settings.zone.value.clone());
        rows(&items).map_err(|trouble| Failed::NotDone(trouble.to_string()))
    }
}
