//! Vitals: how the assistant is, told by whoever wired it together.

use domain::cost::Report;
use engine::ports::Unreadable;
use futures_util::future::BoxFuture;

use super::metrics::Sample;
use super::secret::Digest;

/// How the assistant is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// The version of the program.
    pub version: String,
    /// The process.
    pub pid: u32,
    /// What answers: `offline`, `anthropic:sonnet`.
    pub brain: String,
    /// The human's time zone.
    pub zone: String,
    /// Where everything is kept.
    pub data_dir: String,
    /// Where the page is.
    pub page: String,
    /// Where the human can be met.
    pub surfaces: Vec<String>,
    /// How the line to Discord is, if there is to be one.
    pub discord: Option<String>,
    /// The session of the main conversation, once something was said.
    pub session: Option<String>,
    /// What the human should know.
    pub notices: Vec<String>,
}

/// Who can tell how the assistant is.
pub trait Vitals: Send + Sync {
    /// How it is now.
    fn health(&self) -> BoxFuture<'_, Health>;

    /// What was spent, with lists of the last `days`.
    fn cost(&self, days: u16) -> BoxFuture<'_, Result<Report, Unreadable>>;

    /// Numbers for who watches from outside.
    fn samples(&self) -> BoxFuture<'_, Result<Vec<Sample>, Unreadable>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// What proves that somebody may know those numbers, if anybody over TCP may.
    fn metrics_token(&self) -> Option<Digest> {
        None
    }
}
