//! The file of reports beside the log: `pending_updates.json` shows what the log knows.
//!
//! The log is written first. The file follows, and after a crash it is made to follow at the next start. What
//! another program put into the file is taken over as a report of its own.

use std::sync::Arc;

use domain::label::Label;
use domain::report::{Report, ReportId};
use domain::schedule::Moment;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::db::Database;
use crate::disk::Disk;
use crate::files::pending_updates::{PendingUpdate, PendingUpdates};
use crate::files::{Found, Trouble};
use crate::open::{Place, peek};
use crate::paths::Paths;

/// Who left a report that is not ours.
const ELSEWHERE: &str = "elsewhere";

/// The file, and the zone in which it tells times.
pub struct ReportFile {
    file: PendingUpdates,
    zone: TimeZone,
}

impl ReportFile {
    /// The file of the data directory at `place`.
    pub fn new(place: &Place) -> Self {
        let file = PendingUpdates::new(Arc::clone(&place.disk), &place.paths.state());
        Self { file, zone: place.zone.clone() }
    }

    /// Lets the file say what the log knows, and what others left in it meanwhile, which the next start takes over.
    /// If that fails, the next start does it.
    pub fn follow(&mut self, database: &Database) {
        let written = self.strangers().and_then(|strangers| self.tell(database, strangers));
        if let Err(error) = written {
            tracing::warn!(error, "pending_updates.json could not be written; the next start will.");
        }
    }

    fn strangers(&self) -> Result<Vec<PendingUpdate>, String> {
        let found = self.file.peek(Timestamp::UNIX_EPOCH).map_err(|error| error.to_string())?;
        Ok(found.value.into_iter().filter(is_strange).collect())
    }

    fn tell(&mut self, database: &Database, strangers: Vec<PendingUpdate>) -> Result<(), String> {
        let waiting = database.reports().map_err(|error| error.to_string())?;
        let ours = waiting.iter().map(|report| self.update(report));
        let updates: Vec<PendingUpdate> = ours.chain(strangers).collect();
        self.file.replace(&updates).map_err(|error| error.to_string())
    }

    /// Takes over what others left in the file, and lets it follow the log again; damage is told in `notices`.
    pub fn reconcile(
        &mut self,
        database: &mut Database,
        now: Timestamp,
        notices: &mut Vec<String>,
    ) -> Result<(), Trouble> {
        let Found { value: found, damage } = self.file.peek(now)?;
        notices.extend(damage.map(|damage| damage.to_string()));
        let taken = database.next_report().and_then(|next| {
            let lost = |update: &PendingUpdate| is_strange(update) || is_beyond(update, next);
            database.take_over(found.into_iter().filter(lost).map(left).collect())
        });
        if let Err(error) = taken {
            notices.push(format!("the updates in pending_updates.json could not be read in: {error}."));
            return Ok(());
        }
        if let Err(error) = self.tell(database, Vec::new()) {
            tracing::warn!(error, "pending_updates.json could not be written; the next start will.");
        }
        Ok(())
    }

    fn update(&self, report: &Report) -> PendingUpdate {
        let at = Moment::of(&report.at.to_zoned(self.zone.clone()));
        PendingUpdate::new(at, report.text.clone()).with_id(&report.id.0.to_string())
    }
}

/// The reports that main has not read in the data directory at `paths`, whether or not somebody uses it: those in
/// the log, and those that others left in the file and nobody has taken over.
pub fn reports(paths: &Paths, disk: Arc<dyn Disk>) -> Result<Vec<Report>, String> {
    let database = peek(paths).map_err(|error| error.to_string())?;
    let waiting = database.map_or(Ok(Vec::new()), |database| database.readable());
    let mut waiting = waiting.map_err(|error| error.to_string())?;
    let next = waiting.last().map_or(1, |newest| newest.id.0 + 1);
    // A file that cannot be read is for the next start to tell of: who only looks changes nothing.
    let found = PendingUpdates::new(disk, &paths.state()).glance().unwrap_or_default();
    let strangers = found.into_iter().filter(is_strange).map(left);
    waiting.extend(strangers.zip(next..).map(|(report, id)| Report { id: ReportId(id), ..report }));
    Ok(waiting)
}

/// The log is written first, so a number that it does not know yet is one that it lost.
fn is_beyond(update: &PendingUpdate, next: ReportId) -> bool {
    update.id().and_then(|id| id.parse().ok()).is_some_and(|id: u64| id >= next.0)
}

fn is_strange(update: &PendingUpdate) -> bool {
    update.id().is_none()
}

fn left(update: PendingUpdate) -> Report {
    Report {
        id: ReportId(0),
        at: update.at.at,
        from: ELSEWHERE.to_owned(),
        text: update.message,
        label: Label::PLAIN,
    }
}
