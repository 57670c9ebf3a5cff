//! Applying an update: pull, build, lay beside, look over, and only then exchange.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::ports::Clock;
use journal::db::known_format;
use journal::disk::{Disk, remove};

use super::checkout::{Checkout, News};
use super::mark::{self, Mark};
use super::running::{Trouble, run, run_with};
use super::trial::Trial;
use super::{READY_WITHIN, beside};
use crate::clock::SystemClock;
use crate::settings::Settings;

/// How long a build may take.
const BUILD: Duration = Duration::from_secs(3_600);

/// Who updates.
pub struct Renewer<'a> {
    /// What is set.
    pub settings: &'a Settings,
    /// The disk.
    pub disk: &'a Arc<dyn Disk>,
    /// The source.
    pub checkout: Checkout,
    /// The file that is replaced.
    pub program: PathBuf,
}

/// A new program in its place.
#[derive(Debug)]
pub struct Applied {
    /// What is new.
    pub news: News,
}

impl Renewer<'_> {
    /// UP-2: what is newer than the program: also what an update that was cut short has already pulled.
    pub async fn look(&self) -> Result<Option<News>, Trouble> {
        let base = match mark::read(&**self.disk, &self.settings.paths.state()) {
            Some(Mark::Pulling { from }) => Some(from),
            Some(Mark::Unproven { .. } | Mark::WentBack { .. } | Mark::Stayed { .. }) | None => None,
        };
        self.checkout.look(base.as_deref()).await
    }

    /// UP-7, L2: makes `news` the program; if anything fails, everything is as it was.
    pub async fn apply(&self, news: News) -> Result<Applied, Trouble> {
        let state = self.settings.paths.state();
        let from = match mark::read(&**self.disk, &state) {
            Some(Mark::Pulling { from }) => from,
            Some(Mark::Unproven { .. } | Mark::WentBack { .. } | Mark::Stayed { .. }) | None => {
                self.checkout.head().await?
            }
        };
        self.disk.create_dir(&state).map_err(ours)?;
        mark::write(&**self.disk, &state, &Mark::Pulling { from: from.clone() }).map_err(ours)?;
        match self.made(&from, &news).await {
            Ok(()) => Ok(Applied { news }),
            Err(trouble) => {
                let _ = remove(&**self.disk, &self.laid());
                self.checkout.go_back(&from).await;
                mark::clear(&**self.disk, &state);
                Err(trouble)
            }
        }
    }

    async fn made(&self, from: &str, news: &News) -> Result<(), Trouble> {
        self.checkout.pull().await?;
        let upgrade = &self.settings.places.upgrade;
        let root = self.checkout.root();
        let target = root.join("target/renewal");
        let build = ["sh", "-c", &upgrade.build];
        run_with(&build, (root, BUILD), &[("CARGO_TARGET_DIR", &target)]).await?;
        self.lay(&root.join(&upgrade.binary)).map_err(|error| {
            Trouble::Ours(format!("what was built ({}) cannot be taken: {error}", upgrade.binary.display()))
        })?;
        self.look_over().await?;
        self.exchange(from, news).map_err(ours)
    }

    fn laid(&self) -> PathBuf {
        mark::laid(&self.program)
    }

    /// Lays what was built beside the program.
    fn lay(&self, built: &Path) -> std::io::Result<()> {
        remove(&**self.disk, &self.laid())?;
        let bytes = self.disk.read(built)?;
        self.disk.create(&self.laid(), &bytes)?;
        self.disk.let_run(&self.laid())
    }

    /// L2: the new program must open a copy of everything and say that it is ready, within a minute.
    async fn look_over(&self) -> Result<(), Trouble> {
        let now = SystemClock::new(self.settings.zone.value.clone()).now().timestamp();
        let trial = Trial::of(&self.settings.paths, self.disk, now).await;
        let trial = trial.map_err(|error| Trouble::Ours(format!("nothing could be copied: {error}")))?;
        let (new, data) = (self.laid(), trial.data().to_string_lossy().into_owned());
        let line = [&*new.to_string_lossy(), "--data-dir", &data, "self-check"];
        let said = run(&line, (trial.place(), READY_WITHIN)).await;
        match said {
            Ok(said) if said.lines().last() == Some("ready") => Ok(()),
            Ok(said) => {
                Err(Trouble::Ours(format!("the new program did not say that it is ready, but: {said}")))
            }
            Err(trouble) => Err(Trouble::Ours(format!("the new program is not well: {trouble}"))),
        }
    }

    /// Keeps the program that is there, and puts the new one in its place.
    fn exchange(&self, from: &str, news: &News) -> std::io::Result<()> {
        let half = beside(&self.program, ".previous.tmp");
        remove(&**self.disk, &half)?;
        let bytes = self.disk.read(&self.program)?;
        self.disk.create(&half, &bytes)?;
        self.disk.let_run(&half)?;
        self.disk.rename(&half, &beside(&self.program, ".previous"))?;
        let unproven = Mark::Unproven {
            from: from.to_owned(),
            commits: news.commits.iter().take(20).cloned().collect(),
            program: self.program.clone(),
            starts: 0,
            journal: Some(known_format()),
        };
        mark::write(&**self.disk, &self.settings.paths.state(), &unproven)?;
        self.disk.rename(&self.laid(), &self.program)?;
        self.program.parent().map_or(Ok(()), |dir| self.disk.sync_dir(dir))
    }
}

fn ours(error: std::io::Error) -> Trouble {
    Trouble::Ours(error.to_string())
}
