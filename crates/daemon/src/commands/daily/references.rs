//! Resolves references to jobs from the files, with candidates; other references are left to the
//! assistant.

use std::sync::Arc;

use domain::schedule::{Reminder, Routine};
use engine::ports::Clock;
use journal::files::items::ItemDirectory;

use super::DailyCommands;
use crate::clock::SystemClock;
use crate::commands::jobs::{Job, JobRow, lookup, rows};
use crate::exit::CommandError;

impl DailyCommands<'_> {
    /// Returns the id of the one job that `words` mean, or `words` if no job matches.
    pub(super) fn resolve(&self, words: &str, verb: &str) -> Result<String, CommandError> {
        let words = words.trim();
        let zone = &self.settings.zone.value;
        if words.is_empty() || words.starts_with("inbox:") {
            return Ok(words.to_owned());
        }
        let mut rows = self.rows::<Reminder>()?;
        rows.extend(self.rows::<Routine>()?);
        rows.retain(|row| row.job.is_ok());
        let now = SystemClock::new(zone.clone()).now();
        let hint = |row: &JobRow| format!("use an id: ollim-bot {verb} {}", row.name());
        let found = lookup::find_unique(rows, words, ("thing", hint), (&now, zone))?;
        Ok(found.map_or_else(|| words.to_owned(), |row| row.name().to_owned()))
    }

    fn rows<K: Job>(&self) -> Result<Vec<JobRow>, CommandError> {
        let root = self.settings.paths.root();
        let items = ItemDirectory::<K>::new(Arc::clone(&self.disk), root, self.settings.zone.value.clone());
        rows(&items).map_err(|trouble| CommandError::Failed(trouble.to_string()))
    }
}
