//! Health, cost and metrics for the page and the command line.

use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Query, Request};
use domain::conversation::Branch;
use domain::cost::{CostReport, LOOKBACK_DAYS};
use engine::commands::daily_limit;
use engine::handle::AssistantHandle;
use engine::ports::{Clock, ReadError};
use futures_util::future::BoxFuture;
use journal::Journal;
use surfaces::discord::dm::connection_status;
use surfaces::web::health::{Health, HealthSource};
use surfaces::web::metrics::Sample;
use surfaces::web::secret::Digest;

use crate::telemetry;
use crate::upcoming_runs::upcoming_runs;

/// Provides health, cost and metrics.
pub struct DaemonHealth {
    /// The values that are known at the start.
    pub fixed: Health,
    /// The status of the Discord connection, if there is one.
    pub discord: Option<connection_status::StatusReceiver>,
    /// Source of the session and the cost report.
    pub journal: Arc<Journal>,
    pub clock: Arc<dyn Clock>,
    /// The handle of the event loop.
    pub assistant: AssistantHandle,
    /// The start on the boot clock.
    pub began: Duration,
    /// The digest of the metrics token.
    pub token: Option<Digest>,
}

impl HealthSource for DaemonHealth {
    fn health(&self) -> BoxFuture<'_, Health> {
        Box::pin(async {
            // An open socket does not prove that the event loop works, so wait for its answer.
            self.assistant.ask(Request::Query(Query::Numbers)).await;
            let session = self.journal.branch_session(Branch::Main).await.ok().flatten();
            let session = session.map(|session| session.to_string());
            let discord = self.discord.as_ref().map(|line| line.borrow().to_string());
            Health { session, discord, ..self.fixed.clone() }
        })
    }

    fn cost(&self, days: u16) -> BoxFuture<'_, Result<CostReport, ReadError>> {
        Box::pin(async move {
            let now = self.clock.now();
            let limit = daily_limit(&self.assistant).await;
            let long = self.journal.spending_report(now.clone(), LOOKBACK_DAYS, limit).await?;
            let planned = upcoming_runs(self.journal.paths().root(), &self.journal.disk(), &now);
            let report = self.journal.spending_report(now, days, limit).await?;
            Ok(CostReport { forecast: long.compute_forecast(&planned), ..report })
        })
    }

    fn metrics(&self) -> BoxFuture<'_, Result<Vec<Sample>, ReadError>> {
        Box::pin(telemetry::samples(&self.journal, self.clock.since_boot().saturating_sub(self.began)))
    }

    fn metrics_token(&self) -> Option<Digest> {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use domain::assistant::Answer;
    use engine::handle::Input;
    use journal::OpenParams;
    use journal::disk::RealDisk;

    use super::*;
    use crate::clock::SystemClock;

    /// Health is reported only after the event loop has answered.
    #[tokio::test]
    async fn stalled_event_loop_is_not_reported_as_healthy() {
        let home = tempfile::tempdir().unwrap();
        let zone = jiff::tz::TimeZone::UTC;
        let clock = Arc::new(SystemClock::new(zone.clone()));
        let paths = journal::Paths::new(home.path());
        let disk = Arc::new(RealDisk);
        let place = OpenParams { paths, disk, zone, now: clock.now().timestamp(), pid: std::process::id() };
        let (desk, mut pile) = AssistantHandle::new();
        let pulse = DaemonHealth {
            fixed: Health { version: "1.0".to_owned(), ..Health::default() },
            discord: None,
            journal: Arc::new(journal::open(place).unwrap().journal),
            began: clock.since_boot(),
            clock,
            assistant: desk,
            token: None,
        };
        let mut health = pulse.health();
        let asked = tokio::select! {
            health = &mut health => panic!("nobody has answered: {health:?}"),
            asked = pile.recv() => asked,
        };
        let Some(Input::Request(_, reply)) = asked else { panic!("{asked:?}") };
        reply.send(Answer::Done).unwrap();
        assert_eq!(health.await.version, "1.0");
    }
}
