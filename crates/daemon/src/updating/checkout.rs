//! The checkout: the source that the program was built from, and whether there is a newer one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::running::{Trouble, run};
use crate::settings::Upgrade;

/// How long git may take, with another machine and alone.
const FAR: Duration = Duration::from_secs(60);
const HERE: Duration = Duration::from_secs(10);

/// How many commits are told.
const TOLD: usize = 5;

/// The source.
#[derive(Clone, Debug)]
pub struct Checkout {
    root: PathBuf,
}

/// What is newer than we are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The commits, newest first, a line each.
    pub commits: Vec<String>,
}

impl News {
    /// UP-7: the first of them, and how many more there are.
    pub fn tell(&self) -> String {
        let lines: String = self.commits.iter().take(TOLD).map(|commit| format!("\n- {commit}")).collect();
        match self.commits.len().saturating_sub(TOLD) {
            0 => lines,
            more => format!("{lines}\nand {more} more"),
        }
    }
}

impl Checkout {
    /// UP-1: the checkout that `upgrade` names, or the one that `program` lies in; nothing, if there is none.
    pub fn find(upgrade: &Upgrade, program: &Path) -> Option<Self> {
        let is_one = |dir: &Path| dir.join(".git").exists();
        if let Some(root) = &upgrade.checkout {
            return is_one(root).then(|| Self { root: root.clone() });
        }
        let found = program.ancestors().find(|dir| is_one(dir) && dir.join("Cargo.toml").exists());
        found.filter(|_| upgrade.looks).map(|root| Self { root: root.to_owned() })
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// UP-2, UP-5: what is newer than `base`, or than what is here; nothing, if we are as new or newer.
    pub async fn look(&self, base: Option<&str>) -> Result<Option<News>, Trouble> {
        self.git(&["fetch", "origin"], FAR).await?;
        let remote = match self.git(&["rev-parse", "--verify", "--quiet", "@{u}"], HERE).await {
            Ok(remote) => remote,
            Err(_) => self.git(&["rev-parse", "--verify", "origin/main"], HERE).await?,
        };
        let base = base.unwrap_or("HEAD");
        if self.git(&["merge-base", "--is-ancestor", &remote, base], HERE).await.is_ok() {
            return Ok(None);
        }
        let log = self.git(&["log", "--oneline", &format!("{base}..{remote}")], HERE).await?;
        Ok(Some(News { commits: log.lines().map(str::to_owned).collect() }))
    }

    /// What is here.
    pub async fn head(&self) -> Result<String, Trouble> {
        self.git(&["rev-parse", "HEAD"], HERE).await
    }

    /// Brings it up to date.
    pub async fn pull(&self) -> Result<(), Trouble> {
        self.git(&["pull", "--ff-only"], FAR).await.map(drop)
    }

    /// Goes back to `commit`; what somebody changed here stays.
    pub async fn go_back(&self, commit: &str) {
        if let Err(trouble) = self.git(&["reset", "--keep", commit], HERE).await {
            tracing::warn!(%trouble, "The checkout stays at the version that could not be used.");
        }
    }

    async fn git(&self, words: &[&str], most: Duration) -> Result<String, Trouble> {
        run(&[&["git"], words].concat(), (&self.root, most)).await
    }
}
