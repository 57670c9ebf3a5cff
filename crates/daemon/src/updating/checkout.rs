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
    signers: Option<PathBuf>,
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
        let at = |root: &Path| Self { root: root.to_owned(), signers: upgrade.signers.clone() };
        if let Some(root) = &upgrade.checkout {
            return is_one(root).then(|| at(root));
        }
        let found = program.ancestors().find(|dir| is_one(dir) && dir.join("Cargo.toml").exists());
        found.filter(|_| upgrade.looks).map(at)
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// UP-2, UP-5: what is newer than `base`, or than what is here; nothing, if we are as new or newer.
    pub async fn look(&self, base: Option<&str>) -> Result<Option<News>, Trouble> {
        let remote = self.newest().await?;
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

    /// L2: brings it to the newest version, if that is signed by whoever may; that and no other.
    pub async fn pull(&self) -> Result<(), Trouble> {
        let newest = self.newest().await?;
        if let Some(signers) = &self.signers {
            self.check_signed(&newest, signers).await?;
        }
        self.git(&["merge", "--ff-only", &newest], HERE).await.map(drop)
    }

    /// The newest version that there is elsewhere.
    async fn newest(&self) -> Result<String, Trouble> {
        self.git(&["fetch", "origin"], FAR).await?;
        match self.git(&["rev-parse", "--verify", "--quiet", "@{u}"], HERE).await {
            Ok(newest) => Ok(newest),
            Err(_) => self.git(&["rev-parse", "--verify", "origin/main"], HERE).await,
        }
    }

    /// A version names all that came before it, so that one name under it is enough. Keys of other kinds count for nothing:
    /// whoever has put them on this machine was not asked about versions.
    async fn check_signed(&self, commit: &str, signers: &Path) -> Result<(), Trouble> {
        let file = format!("gpg.ssh.allowedSignersFile={}", signers.display());
        let only = ["-c", &file, "-c", "gpg.program=false", "-c", "gpg.x509.program=false"];
        let words = [&only[..], &["verify-commit", commit]].concat();
        self.git(&words, HERE).await.map(drop).map_err(|trouble| {
            let short: String = commit.chars().take(10).collect();
            Trouble::Ours(format!(
                "the newest version ({short}) is not signed by anybody in {}, so it is not taken ({trouble})",
                signers.display()
            ))
        })
    }

    /// Goes back to `commit`; what somebody changed here stays.
    pub async fn go_back(&self, commit: &str) {
        if let Err(trouble) = self.git(&["reset", "--keep", commit], HERE).await {
            tracing::warn!(%trouble, "The checkout stays at the version that could not be used.");
        }
    }

    async fn git(&self, words: &[&str], most: Duration) -> Result<String, Trouble> {
        run(&[&["git"], words].concat(), &self.root, most).await
    }
}
