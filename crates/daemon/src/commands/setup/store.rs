//! Stores what was set up, after it was tried with temporary settings.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use journal::Paths;
use journal::disk::{Disk, FileEntry, belongs_to_live_process, ensure_dir, remove, replace};
use tempfile::NamedTempFile;

use crate::checks::running_daemon::{RESTART_COMMAND, RunningDaemon};
use crate::exit::CommandError;
use crate::settings::rejections::Rejection;
use crate::settings::secrets::{self, SecretPlaces};
use crate::settings::{Environment, ModelConfig, Settings, stored_environment};

/// The file name prefix of a secret while it is tried. The name ends with the process id, so that
/// leftovers of an interrupted setup can be told from those of a running one.
const TRIAL_PREFIX: &str = ".tried-";

/// A set of changes.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// Variables and values; `None` removes the variable.
    pub variables: Vec<(&'static str, Option<String>)>,
    /// The vendor whose secret changes, and the new secret; `None` removes it.
    pub secret: Option<(SecretPlaces, Option<accounts::Secret>)>,
}

impl Draft {
    pub fn with(mut self, name: &'static str, value: Option<&str>) -> Self {
        self.variables.push((name, value.map(str::to_owned)));
        self
    }

    pub fn secret(mut self, vendor: SecretPlaces, secret: String) -> Self {
        self.secret = Some((vendor, Some(accounts::Secret::new(secret))));
        self
    }

    /// Removes the secret of `vendor`: the stored one does not belong to the new server.
    pub fn without_secret(mut self, vendor: SecretPlaces) -> Self {
        self.secret = Some((vendor, None));
        self
    }

    /// The variables that could also contain the secret. They are removed, because only the new one
    /// is valid.
    fn other_variables(&self) -> impl Iterator<Item = &'static str> {
        self.secret.iter().flat_map(|(vendor, _)| [vendor.variable, vendor.file_variable])
    }
}

/// Reads and stores the setup.
pub struct SetupStore {
    environment: Environment,
    paths: Paths,
    disk: Arc<dyn Disk>,
}

/// The settings with a draft applied, and its temporary secret.
pub struct Trial {
    pub settings: Settings,
    _secret: Option<NamedTempFile>,
}

impl SetupStore {
    /// Creates a store for the directory at `paths`.
    pub fn new(environment: Environment, paths: &Paths, disk: Arc<dyn Disk>) -> Self {
        Self { environment, paths: paths.clone(), disk }
    }

    /// Reads the settings, with the rejected ones.
    pub fn settings(&self) -> Result<(Settings, Vec<Rejection>), CommandError> {
        Settings::read_leniently(&self.environment)
    }

    /// Returns the settings with `draft` applied. Its secret is in a temporary file that is deleted
    /// with the trial.
    pub fn trial(&self, draft: &Draft) -> Result<Trial, CommandError> {
        let mut environment = self.complete_environment();
        for (name, value) in &draft.variables {
            environment = match value {
                Some(value) => environment.with(name, value),
                None => environment.without(name),
            };
        }
        let mut lent = None;
        if let Some((vendor, secret)) = &draft.secret {
            // An empty file means that there is no secret, and overrides the stored one.
            let file = self.write_temporary_secret(secret.as_ref())?;
            let path = file.path().to_string_lossy();
            environment = environment.without(vendor.variable).with(vendor.file_variable, &path);
            lent = Some(file);
        }
        Ok(Trial { settings: self.settings_of(&environment)?, _secret: lent })
    }

    /// Reads the settings of `environment` alone: removed values must not reappear from the stored
    /// ones. Settings that were rejected before are not the draft's fault.
    fn settings_of(&self, environment: &Environment) -> Result<Settings, CommandError> {
        let before: Vec<String> = self.settings()?.1.iter().map(|refusal| refusal.why.to_string()).collect();
        let (settings, refused) = Settings::from_environment(environment)?;
        let new = refused.into_iter().find(|refusal| !before.contains(&refusal.why.to_string()));
        new.map_or(Ok(settings), |refusal| Err(refusal.why))
    }

    fn write_temporary_secret(
        &self,
        secret: Option<&accounts::Secret>,
    ) -> Result<NamedTempFile, CommandError> {
        self.make_state()?;
        let end = format!("-{}.tmp", std::process::id());
        let mut file = tempfile::Builder::new()
            .prefix(TRIAL_PREFIX)
            .suffix(&end)
            .tempfile_in(self.paths.state())
            .map_err(|error| self.unwritable(&error))?;
        let text = secret.map(accounts::Secret::reveal).unwrap_or_default();
        file.write_all(text.as_bytes()).map_err(|error| self.unwritable(&error))?;
        Ok(file)
    }

    /// Removes the temporary secrets of interrupted setups.
    pub fn remove_leftovers(&self) {
        let is_left = |listed: &FileEntry| {
            let name = listed.path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(TRIAL_PREFIX)) && !belongs_to_live_process(&listed.path)
        };
        let listed = self.disk.list(&self.paths.state()).unwrap_or_default();
        for FileEntry { path, .. } in listed.into_iter().filter(is_left) {
            if let Err(error) = remove(&*self.disk, &path) {
                tracing::warn!(%error, path = %path.display(), "A secret that was tried could not be removed.");
            }
        }
    }

    /// Returns the settings that the user changed at runtime.
    pub fn runtime_settings(&self) -> domain::settings::Settings {
        journal::settings(&self.paths, Arc::clone(&self.disk)).0
    }

    /// Stores `draft`. Returns notes for the user.
    pub fn save(&self, draft: &Draft) -> Result<Vec<String>, CommandError> {
        self.make_state()?;
        let place = stored_environment::file_path(&self.paths);
        // Read first: an unreadable file must not be replaced by the new values alone.
        let before = self.read(&place)?;
        let mut told = Vec::new();
        if let Some((vendor, secret)) = &draft.secret {
            let place = self.paths.state().join(vendor.file);
            let heard = self.save_secret(&place, secret.as_ref());
            told.extend(heard.map_err(|error| self.unwritable(&error))?);
        }
        let variables = draft.variables.iter().map(|(name, value)| (*name, value.as_deref()));
        let changes: Vec<_> = variables.chain(draft.other_variables().map(|name| (name, None))).collect();
        if !changes.is_empty() {
            let text = stored_environment::with_changes(&String::from_utf8_lossy(&before), &changes);
            if text.as_bytes() != before {
                replace(&*self.disk, &place, text.as_bytes()).map_err(|error| self.unwritable(&error))?;
            }
        }
        told.extend(self.overriding_variables(draft));
        Ok(told)
    }

    /// Reads the file at `place`; empty if there is none.
    fn read(&self, place: &Path) -> Result<Vec<u8>, CommandError> {
        match self.disk.read(place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read.map_err(|error| {
                let place = place.display();
                CommandError::Configuration(format!("{place} cannot be read: {error}. nothing was changed."))
            }),
        }
    }

    /// Stores a secret at `place`, or removes the stored one. Returns a note for the user.
    fn save_secret(&self, place: &Path, secret: Option<&accounts::Secret>) -> io::Result<Option<String>> {
        let Some(secret) = secret else {
            let told = format!("{} is removed: that key is for another server", place.display());
            return Ok(remove(&*self.disk, place)?.then_some(told));
        };
        replace(&*self.disk, place, format!("{}\n", secret.reveal()).as_bytes())?;
        Ok(Some(format!("kept in {}, which only you can read", place.display())))
    }

    /// Writes a file to `state`.
    pub fn save_file(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, CommandError> {
        self.make_state()?;
        let place = self.paths.state().join(name);
        replace(&*self.disk, &place, bytes).map_err(|error| self.unwritable(&error))?;
        Ok(place)
    }

    /// Returns notes about variables of this shell that override the stored ones.
    fn overriding_variables(&self, draft: &Draft) -> Vec<String> {
        let other = |(name, value): (&'static str, Option<&str>)| {
            let set = self.environment.get(name)?;
            (Some(set) != value).then(|| {
                format!("{name} is set in this shell, and wins over what was kept while it is. unset {name}")
            })
        };
        let variables = draft.variables.iter().map(|(name, value)| (*name, value.as_deref()));
        // For a stored secret the overriding variables are reported with its file.
        let forgets = matches!(draft.secret, Some((_, None)));
        let forgotten = draft.other_variables().filter(|_| forgets).map(|name| (name, None));
        let secrets =
            draft.secret.iter().flat_map(|_| secrets::override_notices(&self.environment, &self.paths));
        variables.chain(forgotten).filter_map(other).chain(secrets).collect()
    }

    /// Returns the value of a variable in this shell, or else the stored one.
    pub fn value(&self, name: &str) -> Option<String> {
        self.complete_environment().get(name).map(str::to_owned)
    }

    /// The shell's variables with the stored ones. An unreadable file is ignored, so that setup can
    /// repair it.
    fn complete_environment(&self) -> Environment {
        self.environment.with_stored().unwrap_or_else(|_| self.environment.clone())
    }

    /// Returns the value of a variable in this shell.
    pub fn shell_value(&self, name: &str) -> Option<String> {
        self.environment.get(name).map(str::to_owned)
    }

    /// Returns whether there is a usable secret of `vendor`. If the stored variables cannot be
    /// read, its server is unknown, so it does not count.
    pub fn has_secret(&self, vendor: SecretPlaces) -> bool {
        let completed = self.environment.with_stored();
        let source =
            completed.and_then(|environment| secrets::secret_reader(&environment, &self.paths, vendor));
        source.is_ok_and(|source| source.is_some())
    }

    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Stores the values that this shell has for `names`, for a service that uses this model
    /// without the shell.
    pub fn save_shell_values(&self, names: &[&'static str], model: &ModelConfig) -> Result<(), CommandError> {
        for name in names {
            let Some(said) = self.environment.get(name) else { continue };
            let vendor = secrets::secret_of_variable(name).filter(|_| !secrets::is_claude_key(name, model));
            let draft = match vendor {
                Some(vendor) => Draft::default().secret(vendor, said.to_owned()),
                // Make the path absolute: the service has another working directory.
                None if name.ends_with("_FILE") => {
                    let path = std::path::absolute(said)?;
                    Draft::default().with(name, Some(&path.to_string_lossy()))
                }
                None => Draft::default().with(name, Some(said)),
            };
            self.save(&draft)?;
        }
        Ok(())
    }

    /// Returns a hint to restart the running daemon, so that it reads the new values.
    pub async fn restart_hint(&self) -> Option<String> {
        RunningDaemon::query(&self.paths).await.ok()??;
        Some(format!("the assistant that runs reads this when it starts again: {RESTART_COMMAND}"))
    }

    fn make_state(&self) -> Result<(), CommandError> {
        for dir in [self.paths.root().to_owned(), self.paths.state()] {
            ensure_dir(&*self.disk, &dir).map_err(|error| self.unwritable(&error))?;
        }
        Ok(())
    }

    fn unwritable(&self, error: &io::Error) -> CommandError {
        CommandError::Configuration(format!(
            "{} cannot be written to: {error}. make it writable, or choose another with --data-dir.",
            self.paths.root().display()
        ))
    }
}

#[cfg(test)]
mod tests {
    use journal::disk::RealDisk;
    use testkit::disk::{DiskFault, FailingDisk, FaultDuration};

    use super::*;

    /// B3: Stored values survive a failure of any disk call.
    #[test]
    fn stored_values_survive_a_failing_disk() {
        for call in 0.. {
            let dir = tempfile::tempdir().unwrap();
            let paths = Paths::new(dir.path());
            std::fs::create_dir(paths.state()).unwrap();
            std::fs::write(stored_environment::file_path(&paths), "OLLIM_USER_NAME=Ann\n").unwrap();
            let failing =
                Arc::new(FailingDisk::new(Arc::new(RealDisk), call, DiskFault::Broken, FaultDuration::Once));
            let keeping = SetupStore::new(Environment::default(), &paths, failing.clone());
            let kept = keeping.save(&Draft::default().with("OLLIM_BOT_NAME", Some("Robin")));
            let text = std::fs::read_to_string(stored_environment::file_path(&paths)).unwrap();
            assert!(text.starts_with("OLLIM_USER_NAME=Ann\n"), "call {call}: {text}");
            if failing.calls() <= call {
                assert!(kept.is_ok() && text.ends_with("OLLIM_BOT_NAME=Robin\n"), "{text}");
                assert!(call > 3, "keeping has hardly touched the disk: {call} calls");
                break;
            }
        }
    }

    #[test]
    fn earlier_rejected_settings_do_not_fail_a_trial() {
        let dir = tempfile::tempdir().unwrap();
        let said = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some(dir.path().display().to_string()),
            "OLLIM_TIMEZONE" => Some("Nowhere".to_owned()),
            _ => None,
        };
        let keeping = SetupStore::new(Environment::new(said), &Paths::new(dir.path()), Arc::new(RealDisk));
        let tried = |name: &'static str, value: &str| {
            let trial = keeping.trial(&Draft::default().with(name, Some(value)));
            trial.map(drop).map_err(|failed| failed.to_string())
        };
        assert_eq!(tried("OLLIM_BOT_NAME", "Robin"), Ok(()));
        assert_eq!(tried("OLLIM_TIMEZONE", "Europe/Berlin"), Ok(()));
        let wrong = tried("OLLIM_MODEL", "gpt").unwrap_err();
        assert!(wrong.starts_with("OLLIM_MODEL: `gpt` is not a brain i know."), "{wrong}");
    }
}
