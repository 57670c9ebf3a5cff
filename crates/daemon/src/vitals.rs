//! Health, cost and metrics for the page and the command line.

use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Question, Request};
use domain::conversation::Branch;
use domain::cost::{LOOKS_BACK, Report};
use engine::commands::limit;
use engine::desk::Desk;
use engine::ports::{Clock, Unreadable};
use futures_util::future::BoxFuture;
use journal::Journal;
use surfaces::discord::dm::line;
use surfaces::web::metrics::Sample;
use surfaces::web::secret::Digest;
use surfaces::web::vitals::{Health, Vitals};

use crate::planned::planned;
use crate::telemetry;

/// Provides health, cost and metrics.
pub struct Pulse {
    /// The values that are known at the start.
    pub fixed: Health,
    /// The status of the Discord connection, if there is one.
    pub discord: Option<line::Read>,
    /// Source of the session and the cost report.
    pub journal: Arc<Journal>,
    pub clock: Arc<dyn Clock>,
    /// The handle of the event loop.
    pub desk: Desk,
    /// The start on the boot clock.
    pub began: Duration,
    /// The digest of the metrics token.
    pub token: Option<Digest>,
}

impl Vitals for Pulse {
    fn health(&self) -> BoxFuture<'_, Health> {
        Box::pin(async {
            // An open socket does not prove that the event loop works, so wait for its answer.
            self.desk.ask(Request::Tell(Question::Numbers)).await;
            let session = self.journal.session(Branch::Main).await.ok().flatten();
            let session = session.map(|session| session.to_string());
            let discord = self.discord.as_ref().map(|line| line.borrow().to_string());
            Health { session, discord, ..self.fixed.clone() }
        })
    }

    fn cost(&self, days: u16) -> BoxFuture<'_, Result<Report, Unreadable>> {
        Box::pin(async move {
            let now = self.clock.now();
            let limit = limit(&self.desk).await;
            let long = self.journal.report(now.clone(), LOOKS_BACK, limit).await?;
            let planned = planned(self.journal.paths().root(), &self.journal.disk(), &now);
            let report = self.journal.report(now, days, limit).await?;
            Ok(Report { forecast: long.foresee(&planned), ..report })
        })
    }

    fn samples(&self) -> BoxFuture<'_, Result<Vec<Sample>, Unreadable>> {
        Box::pin(telemetry::samples(&self.journal, self.clock.boot().saturating_sub(self.began)))
    }

    fn metrics_token(&self) -> Option<Digest> {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use domain::assistant::Answer;
    use engine::desk::Letter;
    use journal::Place;
    use journal::disk::RealDisk;

    use super::*;
    use crate::clock::SystemClock;

    /// Health is reported only after the event loop has answered.
    #[tokio::test]
    async fn a_loop_that_stands_still_is_not_called_well() {
        let home = tempfile::tempdir().unwrap();
        let zone = jiff::tz::TimeZone::UTC;
        let clock = Arc::new(SystemClock::new(zone.clone()));
        let paths = journal::Paths::new(home.path());
        let disk = Arc::new(RealDisk);
        let place = Place { paths, disk, zone, now: clock.now().timestamp(), pid: std::process::id() };
        let (desk, mut pile) = Desk::new();
        let pulse = Pulse {
            fixed: Health { version: "1.0".to_owned(), ..Health::default() },
            discord: None,
            journal: Arc::new(journal::open(place).unwrap().journal),
            began: clock.boot(),
            clock,
            desk,
            token: None,
        };
        let mut health = pulse.health();
        let asked = tokio::select! {
            health = &mut health => panic!("nobody has answered: {health:?}"),
            asked = pile.recv() => asked,
        };
        let Some(Letter::Asked(_, reply)) = asked else { panic!("{asked:?}") };
        reply.send(Answer::Noted).unwrap();
        assert_eq!(health.await.version, "1.0");
    }
}
