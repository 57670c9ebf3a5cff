//! The git checkout from which the program is built, and the newer commits of its remote.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::process::{UpdateError, run};
use crate::settings::Upgrade;

/// Timeouts of git commands, with and without network access.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(60);
const LOCAL_TIMEOUT: Duration = Duration::from_secs(10);

/// The most commits that are listed.
const MAX_LISTED: usize = 5;

/// The checkout of the source.
#[derive(Clone, Debug)]
pub struct Checkout {
    root: PathBuf,
    signers: Option<PathBuf>,
}

/// The newer commits of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvailableUpdate {
    /// One line per commit, newest first.
    pub commits: Vec<String>,
}

impl AvailableUpdate {
    /// UP-7: Lists the first commits and the number of others.
    pub fn summary(&self) -> String {
        let lines: String =
            self.commits.iter().take(MAX_LISTED).map(|commit| format!("\n- {commit}")).collect();
        match self.commits.len().saturating_sub(MAX_LISTED) {
            0 => lines,
            more => format!("{lines}\nand {more} more"),
        }
    }
}

impl Checkout {
    /// UP-1: Returns the configured checkout, or the one that contains `program`, if there is any.
    pub fn find(upgrade: &Upgrade, program: &Path) -> Option<Self> {
        let is_one = |dir: &Path| dir.join(".git").exists();
        let at = |root: &Path| Self { root: root.to_owned(), signers: upgrade.signers.clone() };
        if let Some(root) = &upgrade.checkout {
            return is_one(root).then(|| at(root));
        }
        let found = program.ancestors().find(|dir| is_one(dir) && dir.join("Cargo.toml").exists());
        found.filter(|_| upgrade.searches).map(at)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// UP-2, UP-5: Returns what is newer than `base`, or than the checkout; `None` if there is
    /// nothing newer.
    pub async fn find_update(&self, base: Option<&str>) -> Result<Option<AvailableUpdate>, UpdateError> {
        let remote = self.fetch_newest().await?;
        let base = base.unwrap_or("HEAD");
        if self.git(&["merge-base", "--is-ancestor", &remote, base], LOCAL_TIMEOUT).await.is_ok() {
            return Ok(None);
        }
        let log = self.git(&["log", "--oneline", &format!("{base}..{remote}")], LOCAL_TIMEOUT).await?;
        Ok(Some(AvailableUpdate { commits: log.lines().map(str::to_owned).collect() }))
    }

    /// Returns the current commit.
    pub async fn head(&self) -> Result<String, UpdateError> {
        self.git(&["rev-parse", "HEAD"], LOCAL_TIMEOUT).await
    }

    /// L2: Fast-forwards to the newest commit, if it has a permitted signature or none is required.
    pub async fn pull(&self) -> Result<(), UpdateError> {
        let newest = self.fetch_newest().await?;
        if let Some(signers) = &self.signers {
            self.check_signed(&newest, signers).await?;
        }
        self.git(&["merge", "--ff-only", &newest], LOCAL_TIMEOUT).await.map(drop)
    }

    /// Fetches the remote and returns its newest commit.
    async fn fetch_newest(&self) -> Result<String, UpdateError> {
        self.git(&["fetch", "origin"], NETWORK_TIMEOUT).await?;
        match self.git(&["rev-parse", "--verify", "--quiet", "@{u}"], LOCAL_TIMEOUT).await {
            Ok(newest) => Ok(newest),
            Err(_) => self.git(&["rev-parse", "--verify", "origin/main"], LOCAL_TIMEOUT).await,
        }
    }

    /// Checks the signature of the newest commit, which covers its history. Only SSH signers from
    /// the configured file count; GPG and X.509 are disabled, because keys on this machine are
    /// there for other reasons.
    async fn check_signed(&self, commit: &str, signers: &Path) -> Result<(), UpdateError> {
        let file = format!("gpg.ssh.allowedSignersFile={}", signers.display());
        let only = ["-c", &file, "-c", "gpg.program=false", "-c", "gpg.x509.program=false"];
        let words = [&only[..], &["verify-commit", commit]].concat();
        self.git(&words, LOCAL_TIMEOUT).await.map(drop).map_err(|trouble| {
            let short: String = commit.chars().take(10).collect();
            UpdateError::Internal(format!(
                "the newest version ({short}) is not signed by anybody in {}, so it is not taken ({trouble})",
                signers.display()
            ))
        })
    }

    /// Resets to `commit`, keeping local changes.
    pub async fn reset_to(&self, commit: &str) {
        if let Err(trouble) = self.git(&["reset", "--keep", commit], LOCAL_TIMEOUT).await {
            tracing::warn!(%trouble, "The checkout stays at the version that could not be used.");
        }
    }

    async fn git(&self, words: &[&str], most: Duration) -> Result<String, UpdateError> {
        run(&[&["git"], words].concat(), &self.root, most).await
    }
}
