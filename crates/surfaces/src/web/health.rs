//! Port for the health, cost and metrics of the assistant.

use domain::cost::CostReport;
use engine::ports::ReadError;
use futures_util::future::BoxFuture;

use super::metrics::Sample;
use super::secret::Digest;

/// State of the assistant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    pub version: String,
    pub pid: u32,
    /// The active model, such as `offline` or `anthropic:sonnet`.
    pub model: String,
    /// The user's time zone.
    pub zone: String,
    pub data_dir: String,
    /// Address of the page.
    pub page: String,
    /// Active surfaces.
    pub surfaces: Vec<String>,
    /// State of the Discord connection, if it is enabled.
    pub discord: Option<String>,
    /// Session of the main conversation, once there is one.
    pub session: Option<String>,
    /// Notices for the user.
    pub notices: Vec<String>,
}

/// Provides the state of the assistant.
pub trait HealthSource: Send + Sync {
    fn health(&self) -> BoxFuture<'_, Health>;

    /// Returns the cost report with lists of the last `days`.
    fn cost(&self, days: u16) -> BoxFuture<'_, Result<CostReport, ReadError>>;

    /// Returns the metrics.
    fn metrics(&self) -> BoxFuture<'_, Result<Vec<Sample>, ReadError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Returns the token that authorizes reading the metrics over TCP, if that is enabled.
    fn metrics_token(&self) -> Option<Digest> {
        None
    }
}
