//! How the assistant is, for the page and the command line.

use std::sync::Arc;
use std::time::Duration;

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

/// What does not change while it runs, and the journal for what does.
pub struct Pulse {
    /// Everything that is known at the start.
    pub fixed: Health,
    /// The line to Discord, if there is to be one.
    pub discord: Option<line::Read>,
    /// Where the session and the ledger are looked up.
    pub journal: Arc<Journal>,
    /// What day it is.
    pub clock: Arc<dyn Clock>,
    /// Who knows what unattended work may cost.
    pub desk: Desk,
    /// When it started, by the clock of the machine's boot.
    pub began: Duration,
    /// What proves that somebody may know our numbers.
    pub token: Option<Digest>,
}

impl Vitals for Pulse {
    fn health(&self) -> BoxFuture<'_, Health> {
        Box::pin(async {
            let session = self.journal.session(Branch::Main).await.ok().flatten();
            let session = session.map(|session| session.to_string());
            let discord = self.discord.as_ref().map(|line| line.borrow().to_string());
            Health { session, discord, ..self.fixed.clone() }
        })
    }

    fn cost(&self, days: u16) -> BoxFuture<'_, Result<Report, Unreadable>> {
        Box::pin(async move {
            let (now, limit) = (self.clock.now(), limit(&self.desk).await);
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
