//! The settings file and the ping budget file.

use std::sync::Arc;

use domain::assistant::UserChoices;
use domain::permission::Modes;
use domain::ping_budget::PingBudget;
use domain::record::{Record, StateChange};
use domain::settings::Settings;
use jiff::Timestamp;

use crate::disk::Disk;
use crate::files::FileError;
use crate::files::config::{Config, ConfigFile};
use crate::files::ping_budget::PingBudgetFile;
use crate::open::OpenParams;
use crate::paths::Paths;

pub struct StateFiles {
    config: ConfigFile,
    pings: PingBudgetFile,
}

impl StateFiles {
    pub fn new(params: &OpenParams) -> Self {
        let state = params.paths.state();
        let config = ConfigFile::new(Arc::clone(&params.disk), &state);
        let pings = PingBudgetFile::new(Arc::clone(&params.disk), &state, params.zone.clone());
        Self { config, pings }
    }

    /// RC-1, RC-10: loads the files. An unreadable file counts as missing, which is reported in
    /// `notices`.
    pub fn load(&self, now: Timestamp, notices: &mut Vec<String>) -> UserChoices {
        let (settings, told) = load_settings(&self.config, now);
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
        // PM-4, MC-29: a persistent permission mode applies from the start.
        let modes = Modes { main: settings.permission_mode, fork: None };
        UserChoices { settings, thinking: None, ping_budget: pings, modes, ..UserChoices::default() }
    }

    /// Writes the settings in `records` to the file and returns its previous content, because the
    /// database does not store them.
    pub fn write_settings(&mut self, records: &[Record]) -> Result<Option<Config>, FileError> {
        let mut before = None;
        for record in records {
            let Record::State(StateChange::SettingChanged(setting, settings, at)) = record else { continue };
            let said = self.config.set(*setting, settings, *at)?;
            before.get_or_insert(said);
        }
        Ok(before)
    }

    /// Restores the settings if the database did not accept the transaction.
    pub fn restore_settings(&mut self, before: Option<Config>) {
        if let Some(Err(error)) = before.map(|before| self.config.save(&before)) {
            tracing::warn!(%error, "config.json could not be put back and says what was refused.");
        }
    }

    /// Writes the ping budget in `records` to its file. After a failure the next start does it.
    pub fn apply(&mut self, records: &[Record]) {
        for record in records {
            let Record::State(StateChange::PingBudget(budget)) = record else { continue };
            if let Err(error) = self.pings.save(budget) {
                tracing::warn!(%error, "ping_budget.json could not be written; the next start will.");
            }
        }
    }

    /// PB-9: uses the ping budget of the database, unless another program has updated the file
    /// since.
    pub fn reconcile_ping_budget(&mut self, known: Option<PingBudget>, chosen: &mut UserChoices) {
        let Some(known) = known else { return };
        if chosen.ping_budget.is_none_or(|file| file.updated_at <= known.updated_at && file != known) {
            chosen.ping_budget = Some(known);
            if let Err(error) = self.pings.save(&known) {
                tracing::warn!(%error, "ping_budget.json could not be written; the next start will.");
            }
        }
    }
}

/// The settings of the data directory at `paths` and their errors, even while a daemon uses it.
pub fn settings(paths: &Paths, disk: Arc<dyn Disk>) -> (Settings, Vec<String>) {
    ConfigFile::new(disk, &paths.state()).preview()
}

fn load_settings(file: &ConfigFile, now: Timestamp) -> (Settings, Vec<String>) {
    match file.load(now) {
        Ok(found) => {
            let damage = found.damage.map(|damage| damage.to_string());
            let warnings = found.warnings.iter().map(|warning| format!("state/config.json: {warning}"));
            (found.value.settings, damage.into_iter().chain(warnings).collect())
        }
        Err(trouble) => (Settings::default(), vec![trouble.to_string()]),
    }
}
