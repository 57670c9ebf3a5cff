//! The small state files that the assistant keeps in mind: what the human set, and how many pings are left.

use std::sync::Arc;

use domain::assistant::Chosen;
use domain::permission::Modes;
use domain::ping_budget::PingBudget;
use domain::record::{Record, StateChange};
use domain::settings::Settings;
use jiff::Timestamp;

use crate::disk::Disk;
use crate::files::Trouble;
use crate::files::config::{Config, ConfigFile};
use crate::files::ping_budget::PingBudgetFile;
use crate::open::Place;
use crate::paths::Paths;

/// The files.
pub struct StateFiles {
    config: ConfigFile,
    pings: PingBudgetFile,
}

impl StateFiles {
    /// The files of the data directory at `place`.
    pub fn new(place: &Place) -> Self {
        let state = place.paths.state();
        let config = ConfigFile::new(Arc::clone(&place.disk), &state);
        let pings = PingBudgetFile::new(Arc::clone(&place.disk), &state, place.zone.clone());
        Self { config, pings }
    }

    /// RC-1, RC-10: what they say. One that cannot be read is as if there were none, and that is told in `notices`.
    pub fn chosen(&self, now: Timestamp, notices: &mut Vec<String>) -> Chosen {
        let (settings, told) = read_settings(&self.config, now);
        notices.extend(told);
        let pings = match self.pings.load(now) {
            Ok(found) => {
                notices.extend(found.damage.map(|damage| damage.to_string()));
                found.value
            }
            Err(trouble) => {
                notices.push(trouble.to_string());
                None
            }
        };
        // PM-4, MC-29: what was set for good holds from the start on.
        let modes = Modes { main: settings.permission_mode, fork: None };
        Chosen { settings, thinking: None, pings, modes, ..Chosen::default() }
    }

    /// Lets the file of settings say what `records` say, and returns what it said before: the log knows nothing of it.
    pub fn set(&mut self, records: &[Record]) -> Result<Option<Config>, Trouble> {
        let mut before = None;
        for record in records {
            let Record::State(StateChange::Set(setting, settings, at)) = record else { continue };
            let said = self.config.set(*setting, settings, *at)?;
            before.get_or_insert(said);
        }
        Ok(before)
    }

    /// What was set together with something that the log does not take is not set.
    pub fn put_back(&mut self, before: Option<Config>) {
        if let Some(Err(error)) = before.map(|before| self.config.save(&before)) {
            tracing::warn!(%error, "config.json could not be put back and says what was refused.");
        }
    }

    /// Lets the file of pings say what the log says. If that fails, the next start does it.
    pub fn follow(&mut self, records: &[Record]) {
        for record in records {
            let Record::State(StateChange::Pings(budget)) = record else { continue };
            if let Err(error) = self.pings.save(budget) {
                tracing::warn!(%error, "ping_budget.json could not be written; the next start will.");
            }
        }
    }

    /// PB-9: how many pings are left. The log knows, unless another program has reckoned since.
    pub fn agree(&mut self, known: Option<PingBudget>, chosen: &mut Chosen) {
        let Some(known) = known else { return };
        if chosen.pings.is_none_or(|file| file.reckoned <= known.reckoned && file != known) {
            chosen.pings = Some(known);
            if let Err(error) = self.pings.save(&known) {
                tracing::warn!(%error, "ping_budget.json could not be written; the next start will.");
            }
        }
    }
}

/// What the human set in the data directory at `paths`, whether or not somebody uses it, and what is wrong with it.
pub fn settings(paths: &Paths, disk: Arc<dyn Disk>) -> (Settings, Vec<String>) {
    ConfigFile::new(disk, &paths.state()).glance()
}

fn read_settings(file: &ConfigFile, now: Timestamp) -> (Settings, Vec<String>) {
    match file.load(now) {
        Ok(found) => {
            let damage = found.damage.map(|damage| damage.to_string());
            let warnings = found.warnings.iter().map(|warning| format!("state/config.json: {warning}"));
            (found.value.settings, damage.into_iter().chain(warnings).collect())
        }
        Err(trouble) => (Settings::default(), vec![trouble.to_string()]),
    }
}
