//! Keeping what was set up: tried first, beside what is there, and then put in its place.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use journal::Paths;
use journal::disk::{Disk, Listed, ensure_dir, is_of_another, remove, replace};
use tempfile::NamedTempFile;

use crate::checkup::running::{AGAIN, Running};
use crate::exit::Failed;
use crate::settings::key::{self, ANTHROPIC, CALDAV, DISCORD, IMAP, OPENAI, Vendor};
use crate::settings::{Environment, Settings, kept};

/// Whose secrets are kept, and by which section.
const VENDORS: [(Vendor, &str); 5] =
    [(ANTHROPIC, "model"), (OPENAI, "model"), (DISCORD, "discord"), (CALDAV, "caldav"), (IMAP, "mail")];

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

    /// The settings as they are.
    pub fn settings(&self) -> Result<Settings, Failed> {
        Settings::read(&self.environment)
    }

    /// The settings as `draft` would make them. The secret lies in a file that goes with the trial.
    pub fn trial(&self, draft: &Draft) -> Result<Trial, Failed> {
        let mut environment = self.environment.completed()?;
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
        // What was taken away must not come back from what is kept: it would be tried, and then not be there.
        Ok(Trial { settings: Settings::of(&environment)?, _secret: lent })
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
        let mut told = Vec::new();
        if let Some((vendor, secret)) = &draft.secret {
            let place = self.paths.state().join(vendor.file);
            let heard = self.keep_secret(&place, secret.as_ref());
            told.extend(heard.map_err(|error| self.unwritable(&error))?);
        }
        let variables = draft.variables.iter().map(|(name, value)| (*name, value.as_deref()));
        let changes: Vec<_> = variables.chain(draft.other_places().map(|name| (name, None))).collect();
        if !changes.is_empty() {
            let place = kept::place(&self.paths);
            let before = self.disk.read(&place).unwrap_or_default();
            let text = kept::changed(&String::from_utf8_lossy(&before), &changes);
            if text.as_bytes() != before {
                replace(&*self.disk, &place, text.as_bytes()).map_err(|error| self.unwritable(&error))?;
            }
        }
        told.extend(self.in_the_way(draft));
        Ok(told)
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
    pub fn known(&self, name: &str) -> Result<Option<String>, Failed> {
        Ok(self.environment.completed()?.get(name).map(str::to_owned))
    }

    /// The value of a variable, if this shell says it.
    pub fn said(&self, name: &str) -> Option<String> {
        self.environment.get(name).map(str::to_owned)
    }

    /// Whether there is a secret of `vendor`.
    pub fn has_secret(&self, vendor: Vendor) -> Result<bool, Failed> {
        Ok(key::source(&self.environment.completed()?, &self.paths, vendor)?.is_some())
    }

    /// The secrets that only this shell knows, so that a service would not.
    pub fn only_in_this_shell(&self) -> Vec<String> {
        let known = |(vendor, section): &(Vendor, &str)| {
            let here = [vendor.variable, vendor.file_variable]
                .into_iter()
                .find(|name| self.environment.get(name).is_some())?;
            let kept = self.paths.state().join(vendor.file).exists();
            (!kept).then(|| format!("{here} is set in this shell, which the service does not see. run: ollim-bot setup {section}"))
        };
        VENDORS.iter().filter_map(known).collect()
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
