//! Applies an update: pull, build, place next to the program, check, replace.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::ports::Clock;
use jiff::Timestamp;
use journal::db::known_format;
use journal::disk::{Disk, remove};

use super::checkout::{AvailableUpdate, Checkout};
use super::mark::{self, UnprovenUpdate, UpdateMark};
use super::process::{UpdateError, run, run_with_variables};
use super::trial::Trial;
use super::{READY_WITHIN, with_suffix};
use crate::clock::SystemClock;
use crate::settings::Settings;

const BUILD_TIMEOUT: Duration = Duration::from_secs(3_600);

/// The error if the last update is still on probation: until then only the previous version is
/// known to work.
const UNPROVEN_ERROR: &str = "the last update has still to go on for a minute, and may be taken back until then. let it run so \
                        long, and try again";

/// Finds and applies updates.
pub struct Updater<'a> {
    pub settings: &'a Settings,
    pub disk: &'a Arc<dyn Disk>,
    pub checkout: Checkout,
    /// The file to replace.
    pub program: PathBuf,
}

/// The reason for looking for an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateTrigger {
    /// A request of the user.
    User,
    /// The schedule.
    Schedule,
}

/// An update that has replaced the program.
#[derive(Debug)]
pub struct AppliedUpdate {
    pub update: AvailableUpdate,
}

impl Updater<'_> {
    /// UP-2: Returns what is newer than the program, including what an interrupted update already
    /// pulled. A version that failed to start is offered again only on request of the user.
    pub async fn find_update(&self, trigger: UpdateTrigger) -> Result<Option<AvailableUpdate>, UpdateError> {
        let mark = mark::read(&**self.disk, &self.settings.paths.state());
        let base = match trigger {
            UpdateTrigger::User => mark.as_ref().and_then(UpdateMark::program_commit),
            UpdateTrigger::Schedule => {
                mark.as_ref().filter(|mark| !mark.is_refused()).and_then(UpdateMark::program_commit)
            }
        };
        self.checkout.find_update(base).await
    }

    /// UP-7, L2: Installs the update. On failure everything is restored.
    pub async fn apply(&self, news: AvailableUpdate) -> Result<AppliedUpdate, UpdateError> {
        let state = self.settings.paths.state();
        let before = mark::read(&**self.disk, &state);
        if matches!(before, Some(UpdateMark::Unproven(_) | UpdateMark::GoingBack(_))) {
            return Err(UpdateError::Internal(UNPROVEN_ERROR.to_owned()));
        }
        let head = self.checkout.head().await?;
        let from =
            before.as_ref().and_then(UpdateMark::program_commit).map_or_else(|| head.clone(), str::to_owned);
        self.disk.create_dir(&state).map_err(internal_error)?;
        mark::write(&**self.disk, &state, &UpdateMark::Pulling { from: from.clone() })
            .map_err(internal_error)?;
        match self.build_and_install(&from, &news).await {
            Ok(()) => Ok(AppliedUpdate { update: news }),
            Err(trouble) => {
                let _ = remove(&**self.disk, &self.new_program_path());
                match before.filter(UpdateMark::is_refused) {
                    // A version that failed to start stays rejected.
                    Some(refused) => {
                        self.checkout.reset_to(&head).await;
                        mark::write(&**self.disk, &state, &refused).map_err(internal_error)?;
                    }
                    None => {
                        self.checkout.reset_to(&from).await;
                        mark::clear(&**self.disk, &state);
                    }
                }
                Err(trouble)
            }
        }
    }

    async fn build_and_install(&self, from: &str, news: &AvailableUpdate) -> Result<(), UpdateError> {
        self.checkout.pull().await?;
        let upgrade = &self.settings.integrations.upgrade;
        let root = self.checkout.root();
        let target = root.join("target/renewal");
        let build = ["sh", "-c", &upgrade.build];
        run_with_variables(&build, root, BUILD_TIMEOUT, &[("CARGO_TARGET_DIR", &target)]).await?;
        self.place_new_program(&root.join(&upgrade.binary)).map_err(|error| {
            UpdateError::Internal(format!(
                "what was built ({}) cannot be taken: {error}",
                upgrade.binary.display()
            ))
        })?;
        self.run_self_check().await?;
        self.replace_program(from, news).map_err(internal_error)
    }

    fn now(&self) -> Timestamp {
        SystemClock::new(self.settings.zone.value.clone()).now().timestamp()
    }

    fn new_program_path(&self) -> PathBuf {
        mark::new_program_path(&self.program)
    }

    /// Copies the built program next to the current one.
    fn place_new_program(&self, built: &Path) -> std::io::Result<()> {
        remove(&**self.disk, &self.new_program_path())?;
        let bytes = self.disk.read(built)?;
        self.disk.create(&self.new_program_path(), &bytes)?;
        self.disk.make_executable(&self.new_program_path())
    }

    /// L2: The new program must open a copy of all data and report that it is ready, within a
    /// minute.
    async fn run_self_check(&self) -> Result<(), UpdateError> {
        let trial = Trial::create(&self.settings.paths, self.disk, self.now()).await;
        let trial =
            trial.map_err(|error| UpdateError::Internal(format!("nothing could be copied: {error}")))?;
        let new = self.new_program_path();
        let data = trial.data().to_string_lossy().into_owned();
        let line = [&*new.to_string_lossy(), "--data-dir", &data, "self-check"];
        let said = run(&line, trial.place(), READY_WITHIN).await;
        match said {
            Ok(said) if said.lines().last() == Some("ready") => Ok(()),
            Ok(said) => Err(UpdateError::Internal(format!(
                "the new program did not say that it is ready, but: {said}"
            ))),
            Err(trouble) => Err(UpdateError::Internal(format!("the new program is not well: {trouble}"))),
        }
    }

    /// Keeps the current program as `.previous`, and replaces it with the new one.
    fn replace_program(&self, from: &str, news: &AvailableUpdate) -> std::io::Result<()> {
        let half = with_suffix(&self.program, ".previous.tmp");
        remove(&**self.disk, &half)?;
        let bytes = self.disk.read(&self.program)?;
        self.disk.create(&half, &bytes)?;
        self.disk.make_executable(&half)?;
        self.disk.rename(&half, &with_suffix(&self.program, ".previous"))?;
        // Sync the directory, so that both files survive a power cut before the mark relies on
        // them.
        self.sync_directory()?;
        let unproven = UnprovenUpdate {
            from: from.to_owned(),
            commits: news.commits.iter().take(20).cloned().collect(),
            program: self.program.clone(),
            starts: 0,
            journal: Some(known_format()),
            at: Some(self.now().as_second()),
        };
        mark::write(&**self.disk, &self.settings.paths.state(), &UpdateMark::Unproven(unproven))?;
        self.disk.rename(&self.new_program_path(), &self.program)?;
        // If a power cut undoes the rename, the next start detects it with the mark.
        if let Err(error) = self.sync_directory() {
            tracing::warn!(%error, "The name of the new program could not be brought to the disk.");
        }
        Ok(())
    }

    /// Syncs the directory of the program.
    fn sync_directory(&self) -> std::io::Result<()> {
        self.program.parent().map_or(Ok(()), |dir| self.disk.sync_dir(dir))
    }
}

fn internal_error(error: std::io::Error) -> UpdateError {
    UpdateError::Internal(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use journal::disk::{RealDisk, replace};
    use testkit::disk::RecordingDisk;

    use super::*;
    use crate::settings::Environment;

    fn git(dir: &Path, words: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=x", "-c", "user.email=x@localhost"]).args(words).current_dir(dir);
        let output =
            git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn settings(data: &Path, checkout: &Path) -> Settings {
        let known = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some(data.to_string_lossy().into_owned()),
            "OLLIM_MODEL" => Some("offline".to_owned()),
            _ => None,
        };
        let mut settings = Settings::read(&Environment::new(known)).unwrap();
        settings.integrations.upgrade.checkout = Some(checkout.to_owned());
        settings
    }

    /// L2, B1: After a power cut during the replacement there is always a program, and a new one
    /// has the old one next to it and a mark.
    #[test]
    fn power_cut_during_the_replacement_leaves_a_program_and_a_rollback() {
        let source = tempfile::tempdir().unwrap();
        git(source.path(), &["init", "--quiet"]);
        let settings = settings(Path::new("/data/home"), source.path());
        let program = PathBuf::from("/data/bin/ollim-bot");
        let state = settings.paths.state();
        let crash = Arc::new(RecordingDisk::default());
        for (path, text) in [(&program, "old"), (&PathBuf::from("/data/built"), "new")] {
            replace(&*crash, path, text.as_bytes()).unwrap();
        }
        mark::write(&*crash, &state, &UpdateMark::Pulling { from: "abc".to_owned() }).unwrap();
        crash.acknowledge();

        let disk: Arc<dyn Disk> = crash.clone();
        let checkout = Checkout::find(&settings.integrations.upgrade, &program).unwrap();
        let renewer = Updater { settings: &settings, disk: &disk, checkout, program: program.clone() };
        renewer.place_new_program(Path::new("/data/built")).unwrap();
        renewer.replace_program("abc", &AvailableUpdate { commits: Vec::new() }).unwrap();
        crash.acknowledge();

        let mut seen = [0, 0];
        crash.for_each_power_cut(|cut| {
            let read = |path: &Path| cut.disk.read(path).unwrap_or_default();
            let placed = read(&program);
            let mark = mark::read(&cut.disk, &state);
            match (cut.acknowledged, &*placed) {
                (0, _) => {}
                (1, b"old") => assert!(matches!(mark, Some(UpdateMark::Pulling { .. })), "{mark:?}"),
                (_, b"new") => {
                    assert!(matches!(mark, Some(UpdateMark::Unproven(_))), "{mark:?}");
                    assert_eq!(read(&with_suffix(&program, ".previous")), b"old", "the way back");
                }
                (acknowledged, _) => panic!("{placed:?} after {acknowledged}"),
            }
            seen[usize::from(placed == b"new")] += 1;
        });
        assert!(seen[0] > 10 && seen[1] > 1, "{seen:?}");
    }

    /// L2, UP-2: A version that failed to start is not installed automatically again, only on
    /// request.
    #[tokio::test]
    async fn failed_version_is_installed_again_only_on_request() {
        let dir = tempfile::tempdir().unwrap();
        let origin = dir.path().join("origin");
        let checkout = dir.path().join("checkout");
        git(dir.path(), &["init", "--quiet", "--initial-branch=main", "origin"]);
        git(&origin, &["commit", "--quiet", "--allow-empty", "-m", "works"]);
        let from = git(&origin, &["rev-parse", "HEAD"]);
        git(&origin, &["commit", "--quiet", "--allow-empty", "-m", "falls"]);
        git(dir.path(), &["clone", "--quiet", "origin", "checkout"]);
        let settings = settings(&dir.path().join("data"), &checkout);
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let program = dir.path().join("ollim-bot");
        let found = Checkout::find(&settings.integrations.upgrade, &program).unwrap();
        let renewer = Updater { settings: &settings, disk: &disk, checkout: found, program };
        mark::write(&RealDisk, &settings.paths.state(), &UpdateMark::Refused { from }).unwrap();

        assert_eq!(renewer.find_update(UpdateTrigger::Schedule).await.unwrap(), None);
        let news = renewer.find_update(UpdateTrigger::User).await.unwrap().unwrap();
        assert!(news.commits.len() == 1 && news.commits[0].ends_with("falls"), "{news:?}");
        git(&origin, &["commit", "--quiet", "--allow-empty", "-m", "works again"]);
        let news = renewer.find_update(UpdateTrigger::Schedule).await.unwrap().unwrap();
        assert!(news.commits.len() == 1 && news.commits[0].ends_with("works again"), "{news:?}");
    }
}
