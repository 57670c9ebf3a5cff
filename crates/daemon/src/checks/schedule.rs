//! Checks the schedule: number of jobs, next due time, and what of today was late or lost.

use std::sync::Arc;

use domain::occurrence::{Occurrence, OccurrenceEnd, OccurrenceState};
use domain::phrase::{Timing, describe};
use domain::schedule::{Lateness, PlannedJob, Reminder, Routine};
use jiff::Zoned;
use journal::Paths;
use journal::disk::Disk;
use journal::files::items::ItemDirectory;

use super::{Finding, State};
use crate::commands::jobs::{Job, due_times, global_pause, paused_text, rows};

/// More occurrences than one day has.
const MAX_OCCURRENCES: u32 = 2_000;
/// The most lost occurrences that are listed by name.
const MAX_NAMED: usize = 3;

/// Checks the schedule. Unreadable files are reported by another check.
pub fn check(paths: &Paths, disk: &Arc<dyn Disk>, now: &Zoned) -> Finding {
    let jobs =
        [planned_jobs::<Routine>(paths, disk, now), planned_jobs::<Reminder>(paths, disk, now)].concat();
    let today = occurrences_today(paths, now);
    if jobs.is_empty() && today.is_empty() {
        return Finding::absent("schedule", "nothing is planned");
    }
    let at = now.timestamp();
    let zone = now.time_zone();
    let pause = global_pause(paths);
    let next = jobs.iter().filter_map(|job| due_times(&job.spec, pause, at, zone).next()).min();
    let next = next.map_or_else(
        || "none to come".to_owned(),
        |next| format!("next {}", describe(&Timing::Once(next.to_zoned(now.time_zone().clone())), now, &[])),
    );
    let items = if jobs.len() == 1 { "1 item".to_owned() } else { format!("{} items", jobs.len()) };
    let late =
        today.iter().filter(|time| time.lateness == Lateness::Late && lost_times(time).is_none()).count();
    let resting = paused_text(pause, at, zone);
    let resting = resting.map(|paused| format!("all that repeats {paused}, ")).unwrap_or_default();
    let text = format!("{items}, {resting}{next}, {late} late today, ");
    match today.iter().filter_map(lost_times).map(|(count, _)| count).sum::<u32>() {
        0 => Finding::fine("schedule", text + "0 lost"),
        count => {
            let found = Finding::new(
                "schedule",
                State::Warning,
                format!("{text}{count} lost: {}", lost_names(&today)),
            );
            let first = today.iter().find(|time| lost_times(time).is_some());
            Finding {
                fix: first.map(|time| format!("ollim-bot why {} tells more", time.key.source)),
                ..found
            }
        }
    }
}

fn planned_jobs<K: Job>(paths: &Paths, disk: &Arc<dyn Disk>, now: &Zoned) -> Vec<PlannedJob> {
    let items = ItemDirectory::<K>::new(Arc::clone(disk), paths.root(), now.time_zone().clone());
    rows(&items).unwrap_or_default().into_iter().filter_map(|row| row.job.ok()).collect()
}

/// Returns the occurrences of today.
fn occurrences_today(paths: &Paths, now: &Zoned) -> Vec<Occurrence> {
    let midnight = now.start_of_day().unwrap_or_else(|_| now.clone()).timestamp();
    let log = journal::open_read_only(paths).ok().flatten();
    let times = log.and_then(|log| log.occurrences(None, MAX_OCCURRENCES).ok()).unwrap_or_default();
    times.into_iter().filter(|time| time.since >= midnight).collect()
}

/// Returns how many due times were lost with this occurrence, and why.
fn lost_times(time: &Occurrence) -> Option<(u32, &str)> {
    match &time.state {
        OccurrenceState::Ended(OccurrenceEnd::Missed { count, reason: why, .. }) => Some((*count, why)),
        OccurrenceState::Ended(OccurrenceEnd::Failed(why)) => Some((1, why)),
        OccurrenceState::Ended(
            OccurrenceEnd::Done(_) | OccurrenceEnd::Skipped(_) | OccurrenceEnd::Cancelled(_),
        ) => None,
        OccurrenceState::Running(_)
        | OccurrenceState::SentToMain(_)
        | OccurrenceState::Retrying(_)
        | OccurrenceState::Queued => None,
    }
}

/// Lists the lost occurrences with their reasons, up to a limit.
fn lost_names(today: &[Occurrence]) -> String {
    let told = |time: &Occurrence| lost_times(time).map(|(_, why)| format!("{} ({why})", time.name));
    let all: Vec<String> = today.iter().filter_map(told).collect();
    let more = all.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    all[..all.len().min(MAX_NAMED)].join(", ") + &more
}

#[cfg(test)]
mod tests {
    use domain::cost::CostSource;
    use domain::occurrence::OccurrenceKey;
    use domain::record::{PlanChange, Record};
    use engine::ports::Journal as _;
    use journal::disk::RealDisk;

    use super::*;

    /// The finding counts jobs, the next due time and today's problems; yesterday's are not
    /// included.
    #[tokio::test]
    async fn doctor_counts_jobs_and_todays_losses() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let now: Zoned = "2026-11-17T14:00[Europe/Madrid]".parse().unwrap();
        let told = || check(&paths, &disk, &now).to_text();
        assert_eq!(told(), "– schedule nothing is planned\n");
        std::fs::create_dir_all(dir.path().join("routines")).unwrap();
        let text = "---\nid: a\ncron: \"0 15 * * *\"\n---\nx\n";
        std::fs::write(dir.path().join("routines/a.md"), text).unwrap();
        assert_eq!(told(), "✓ schedule 1 item, next today 15:00 · in 1 h, 0 late today, 0 lost\n");

        let zone = now.time_zone().clone();
        let place = journal::OpenParams {
            paths: paths.clone(),
            disk: disk.clone(),
            zone,
            now: now.timestamp(),
            pid: 1,
        };
        let journal = journal::open(place).unwrap().journal;
        let time = |hours: i64, lateness, end| {
            let since = now.timestamp() - jiff::SignedDuration::from_hours(hours);
            let key = OccurrenceKey { source: CostSource::Routine("a".to_owned()), due: since };
            let name = "water".to_owned();
            let words = String::new();
            let stage = OccurrenceState::Ended(end);
            Record::Plan(PlanChange::Occurrence(Occurrence {
                key,
                name,
                prompt: words,
                lateness,
                tries: 1,
                since,
                state: stage,
                shown_verbatim: false,
            }))
        };
        let missed = |count| OccurrenceEnd::Missed {
            last: now.timestamp(),
            count,
            reason: "it was asleep".to_owned(),
        };
        let late = time(1, Lateness::Late, OccurrenceEnd::Done(String::new()));
        journal.write(vec![late, time(30, Lateness::Late, missed(9))]).await.unwrap();
        assert_eq!(told(), "✓ schedule 1 item, next today 15:00 · in 1 h, 1 late today, 0 lost\n");
        let failed = time(2, Lateness::OnTime, OccurrenceEnd::Failed("no model".to_owned()));
        journal.write(vec![failed, time(3, Lateness::Late, missed(2))]).await.unwrap();
        let lost = "1 late today, 3 lost: water (no model), water (it was asleep)";
        let more = "    fix: ollim-bot why routine:a tells more\n";
        assert_eq!(told(), format!("! schedule 1 item, next today 15:00 · in 1 h, {lost}\n{more}"));
    }
}
