//! Keeping what was set up: tried first, beside what is there, and then put in its place.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use journal::Paths;
use journal::disk::{Disk, Listed, ensure_dir, is_of_another, remove, replace};
use tempfile::NamedTempFile;

use crate::checkup::running::{AGAIN, Running};
use crate::exit::Failed;
use crate::settings::key::{self, Vendor};
use crate::settings::refused::Refusal;
use crate::settings::{Brain, Environment, Settings, kept};

/// What the name of a file begins with that holds a secret while it is tried. It ends in the number of the process, so
/// that what a setup left that was interrupted can be told from what another one tries.
const TRIED: &str = ".tried-";

/// What would be new.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// Variables, and their values; one without a value is taken away.
    pub variables: Vec<(&'static str, Option<String>)>,
    /// Whose secret changes, and to what; one that is nothing is taken away.
    pub secret: Option<(Vendor, Option<accounts::Secret>)>,
}

impl Draft {
    /// It, with this variable too.
    pub fn and(mut self, name: &'static str, value: Option<&str>) -> Self {
        self.variables.push((name, value.map(str::to_owned)));
        self
    }

    /// It, with this secret.
    pub fn secret(mut self, vendor: Vendor, secret: String) -> Self {
        self.secret = Some((vendor, Some(accounts::Secret::new(secret))));
        self
    }

    /// It, with no secret of `vendor`: whoever is called now has nothing to do with the one that is kept.
    pub fn without_secret(mut self, vendor: Vendor) -> Self {
        self.secret = Some((vendor, None));
        self
    }

    /// The lines in which a secret could be kept as well. What is new counts alone, so they go.
    fn other_places(&self) -> impl Iterator<Item = &'static str> {
        self.secret.iter().flat_map(|(vendor, _)| [vendor.variable, vendor.file_variable])
    }
}

/// Where it is kept.
pub struct Keeping {
    environment: Environment,
    paths: Paths,
    disk: Arc<dyn Disk>,
}

/// The settings as a draft would make them, for as long as they are tried.
pub struct Trial {
    /// The settings.
    pub settings: Settings,
    _secret: Option<NamedTempFile>,
}

impl Keeping {
    /// Keeps things for `environment` in the directory at `paths`.
    pub fn new(environment: Environment, paths: &Paths, disk: Arc<dyn Disk>) -> Self {
        Self { environment, paths: paths.clone(), disk }
    }

    /// The settings as they are, and what of them is refused.
    pub fn settings(&self) -> Result<(Settings, Vec<Refusal>), Failed> {
        Settings::read_on(&self.environment)
    }

    /// The settings as `draft` would make them. The secret lies in a file that goes with the trial.
    pub fn trial(&self, draft: &Draft) -> Result<Trial, Failed> {
        let mut environment = self.all_known();
        for (name, value) in &draft.variables {
            environment = match value {
                Some(value) => environment.with(name, value),
                None => environment.without(name),
            };
        }
        let mut lent = None;
        if let Some((vendor, secret)) = &draft.secret {
            // An empty file says that there is none, and wins over the one that is kept.
            let file = self.lend(secret.as_ref())?;
            let path = file.path().to_string_lossy();
            environment = environment.without(vendor.variable).with(vendor.file_variable, &path);
            lent = Some(file);
        }
        Ok(Trial { settings: self.tried(&environment)?, _secret: lent })
    }

    /// The settings of `environment`. What was refused before is no fault of a draft, and what was taken away must not
    /// come back from what is kept: it would be tried, and then not be there.
    fn tried(&self, environment: &Environment) -> Result<Settings, Failed> {
        let before: Vec<String> = self.settings()?.1.iter().map(|refusal| refusal.why.to_string()).collect();
        let (settings, refused) = Settings::of(environment)?;
        let new = refused.into_iter().find(|refusal| !before.contains(&refusal.why.to_string()));
        new.map_or(Ok(settings), |refusal| Err(refusal.why))
    }

    fn lend(&self, secret: Option<&accounts::Secret>) -> Result<NamedTempFile, Failed> {
        self.make_state()?;
        let end = format!("-{}.tmp", std::process::id());
        let mut file = tempfile::Builder::new()
            .prefix(TRIED)
            .suffix(&end)
            .tempfile_in(self.paths.state())
            .map_err(|error| self.unwritable(&error))?;
        let text = secret.map(accounts::Secret::reveal).unwrap_or_default();
        file.write_all(text.as_bytes()).map_err(|error| self.unwritable(&error))?;
        Ok(file)
    }

    /// Takes away what a setup had tried that was interrupted.
    pub fn forget_tried(&self) {
        let is_left = |listed: &Listed| {
            let name = listed.path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(TRIED)) && !is_of_another(&listed.path)
        };
        let listed = self.disk.list(&self.paths.state()).unwrap_or_default();
        for Listed { path, .. } in listed.into_iter().filter(is_left) {
            if let Err(error) = remove(&*self.disk, &path) {
                tracing::warn!(%error, path = %path.display(), "A secret that was tried could not be removed.");
            }
        }
    }

    /// What the human set in the chat.
    pub fn said_in_chat(&self) -> domain::settings::Settings {
        journal::settings(&self.paths, Arc::clone(&self.disk)).0
    }

    /// Keeps `draft`; the sentences that the human should hear about it.
    pub fn keep(&self, draft: &Draft) -> Result<Vec<String>, Failed> {
        self.make_state()?;
        let place = kept::place(&self.paths);
        // First of all: what cannot be read must not be replaced by what is new alone.
        let before = self.read(&place)?;
        let mut told = Vec::new();
        if let Some((vendor, secret)) = &draft.secret {
            let place = self.paths.state().join(vendor.file);
            let heard = self.keep_secret(&place, secret.as_ref());
            told.extend(heard.map_err(|error| self.unwritable(&error))?);
        }
        let variables = draft.variables.iter().map(|(name, value)| (*name, value.as_deref()));
        let changes: Vec<_> = variables.chain(draft.other_places().map(|name| (name, None))).collect();
        if !changes.is_empty() {
            let text = kept::changed(&String::from_utf8_lossy(&before), &changes);
            if text.as_bytes() != before {
                replace(&*self.disk, &place, text.as_bytes()).map_err(|error| self.unwritable(&error))?;
            }
        }
        told.extend(self.in_the_way(draft));
        Ok(told)
    }

    /// What the file at `place` holds: nothing, if there is none.
    fn read(&self, place: &Path) -> Result<Vec<u8>, Failed> {
        match self.disk.read(place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read.map_err(|error| {
                let place = place.display();
                Failed::Configuration(format!("{place} cannot be read: {error}. nothing was changed."))
            }),
        }
    }

    /// Keeps a secret at `place`, or takes away the one that lies there; what the human should hear about it.
    fn keep_secret(&self, place: &Path, secret: Option<&accounts::Secret>) -> io::Result<Option<String>> {
        let Some(secret) = secret else {
            let told = format!("{} is removed: that key is for another server", place.display());
            return Ok(remove(&*self.disk, place)?.then_some(told));
        };
        replace(&*self.disk, place, format!("{}\n", secret.reveal()).as_bytes())?;
        Ok(Some(format!("kept in {}, which only you can read", place.display())))
    }

    /// Puts a whole file into `state`.
    pub fn keep_file(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Failed> {
        self.make_state()?;
        let place = self.paths.state().join(name);
        replace(&*self.disk, &place, bytes).map_err(|error| self.unwritable(&error))?;
        Ok(place)
    }

    /// What of the environment wins over what is kept now.
    fn in_the_way(&self, draft: &Draft) -> Vec<String> {
        let other = |(name, value): (&'static str, Option<&str>)| {
            let set = self.environment.get(name)?;
            (Some(set) != value).then(|| {
                format!("{name} is set in this shell, and wins over what was kept while it is. unset {name}")
            })
        };
        let variables = draft.variables.iter().map(|(name, value)| (*name, value.as_deref()));
        // Where a secret is kept now, whatever wins over it is told with its file.
        let forgets = matches!(draft.secret, Some((_, None)));
        let forgotten = draft.other_places().filter(|_| forgets).map(|name| (name, None));
        let secrets = draft.secret.iter().flat_map(|_| key::passed_over(&self.environment, &self.paths));
        variables.chain(forgotten).filter_map(other).chain(secrets).collect()
    }

    /// The value of a variable: what this shell says, or else what is kept.
    pub fn known(&self, name: &str) -> Option<String> {
        self.all_known().get(name).map(str::to_owned)
    }

    /// What this shell says, and what is kept, if that can be read: whoever repairs it must not be locked out by it.
    fn all_known(&self) -> Environment {
        self.environment.completed().unwrap_or_else(|_| self.environment.clone())
    }

    /// The value of a variable, if this shell says it.
    pub fn said(&self, name: &str) -> Option<String> {
        self.environment.get(name).map(str::to_owned)
    }

    /// Whether there is a secret of `vendor` that can be used. Where what is kept cannot be read, nobody knows for which
    /// server it is.
    pub fn has_secret(&self, vendor: Vendor) -> bool {
        let completed = self.environment.completed();
        let source = completed.and_then(|environment| key::source(&environment, &self.paths, vendor));
        source.is_ok_and(|source| source.is_some())
    }

    /// What this shell says.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Keeps what this shell says of `names`, for whoever does not see this shell and lets `brain` answer.
    pub fn keep_said(&self, names: &[&'static str], brain: &Brain) -> Result<(), Failed> {
        for name in names {
            let Some(said) = self.environment.get(name) else { continue };
            let vendor = key::held_in(name).filter(|_| !key::is_of_program(name, brain));
            let draft = match vendor {
                Some(vendor) => Draft::default().secret(vendor, said.to_owned()),
                // Nobody else is in this folder.
                None if name.ends_with("_FILE") => {
                    let path = std::path::absolute(said)?;
                    Draft::default().and(name, Some(&path.to_string_lossy()))
                }
                None => Draft::default().and(name, Some(said)),
            };
            self.keep(&draft)?;
        }
        Ok(())
    }

    /// What is to be done so that an assistant that runs hears of it.
    pub async fn heard(&self) -> Option<String> {
        Running::ask(&self.paths).await.ok()??;
        Some(format!("the assistant that runs reads this when it starts again: {AGAIN}"))
    }

    fn make_state(&self) -> Result<(), Failed> {
        for dir in [self.paths.root().to_owned(), self.paths.state()] {
            ensure_dir(&*self.disk, &dir).map_err(|error| self.unwritable(&error))?;
        }
        Ok(())
    }

    fn unwritable(&self, error: &io::Error) -> Failed {
        Failed::Configuration(format!(
            "{} cannot be written to: {error}. make it writable, or choose another with --data-dir.",
            self.paths.root().display()
        ))
    }
}

#[cfg(test)]
mod tests {
    use journal::disk::RealDisk;
    use testkit::disk::{FailingDisk, Fault, Lasting};

    use super::*;

    /// B3: whichever call to the disk fails, what was kept before is still there.
    #[test]
    fn a_disk_that_fails_costs_nothing_that_is_kept() {
        for call in 0.. {
            let dir = tempfile::tempdir().unwrap();
            let paths = Paths::new(dir.path());
            std::fs::create_dir(paths.state()).unwrap();
            std::fs::write(kept::place(&paths), "OLLIM_USER_NAME=Ann\n").unwrap();
            let failing = Arc::new(FailingDisk::new(Arc::new(RealDisk), call, Fault::Broken, Lasting::Once));
            let keeping = Keeping::new(Environment::default(), &paths, failing.clone());
            let kept = keeping.keep(&Draft::default().and("OLLIM_BOT_NAME", Some("Robin")));
            let text = std::fs::read_to_string(kept::place(&paths)).unwrap();
            assert!(text.starts_with("OLLIM_USER_NAME=Ann\n"), "call {call}: {text}");
            if failing.calls() <= call {
                assert!(kept.is_ok() && text.ends_with("OLLIM_BOT_NAME=Robin\n"), "{text}");
                assert!(call > 3, "keeping has hardly touched the disk: {call} calls");
                break;
            }
        }
    }

    #[test]
    fn what_was_refused_before_is_no_fault_of_a_draft() {
        let dir = tempfile::tempdir().unwrap();
        let said = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some(dir.path().display().to_string()),
            "OLLIM_TIMEZONE" => Some("Nowhere".to_owned()),
            _ => None,
        };
        let keeping = Keeping::new(Environment::new(said), &Paths::new(dir.path()), Arc::new(RealDisk));
        let tried = |name: &'static str, value: &str| {
            let trial = keeping.trial(&Draft::default().and(name, Some(value)));
            trial.map(drop).map_err(|failed| failed.to_string())
        };
        assert_eq!(tried("OLLIM_BOT_NAME", "Robin"), Ok(()));
        assert_eq!(tried("OLLIM_TIMEZONE", "Europe/Berlin"), Ok(()));
        let wrong = tried("OLLIM_MODEL", "gpt").unwrap_err();
        assert!(wrong.starts_with("OLLIM_MODEL: `gpt` is not a brain i know."), "{wrong}");
    }
}
