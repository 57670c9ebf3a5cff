//! Counts the remaining runs of routines in this month, for the cost forecast.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use domain::cost::{CostSource, PlannedTimes};
use domain::schedule::{Placement, Routine};
use jiff::Zoned;
use journal::Paths;
use journal::disk::Disk;
use journal::files::items::ItemDirectory;

use crate::commands::jobs::{due_times, global_pause, rows};

/// More due times than a routine that runs every minute has in a month.
const MAX_DUE_TIMES: usize = 50_000;

/// Returns the number of runs of each background routine after `now`, by cost account and day.
pub fn upcoming_runs(root: &Path, disk: &Arc<dyn Disk>, now: &Zoned) -> BTreeMap<String, PlannedTimes> {
    let zone = now.time_zone();
    let items = ItemDirectory::<Routine>::new(Arc::clone(disk), root, zone.clone());
    let next_month = now.last_of_month().and_then(|day| day.tomorrow()).and_then(|day| day.start_of_day());
    let next_month = next_month.unwrap_or_else(|_| now.clone()).timestamp();
    let mut planned = BTreeMap::new();
    let pause = global_pause(&Paths::new(root));
    for row in rows(&items).unwrap_or_default() {
        let source = row.source(CostSource::Routine).to_string();
        let Ok(job) = row.job else { continue };
        // Routines on main are part of the average cost of main.
        if job.target().placement() == Placement::Foreground {
            continue;
        }
        let mut times = PlannedTimes::default();
        let fires = due_times(&job.spec, pause, now.timestamp(), zone).take(MAX_DUE_TIMES);
        for fire in fires.take_while(|fire| *fire < next_month) {
            let day = fire.to_zoned(zone.clone()).date().day();
            times.add(usize::try_from(day - now.day()).unwrap_or_default());
        }
        planned.insert(source, times);
    }
    planned
}

#[cfg(test)]
mod tests {
    use testkit::disk::MemoryDisk;

    use super::*;

    /// Background routines are counted by day until the end of the month; routines on main are not
    /// counted.
    #[test]
    fn background_routines_are_counted_by_day() {
        let disk = MemoryDisk::default();
        let routine = |id: &str, more: &str| format!("---\nid: {id}\n{more}---\nlook\n");
        for (id, more) in [
            ("mail", "cron: 0 9,18 * * *\nbackground: true\n"),
            ("rests", "cron: 0 9 * * *\nbackground: true\npaused: true\n"),
            ("here", "cron: 0 9 * * *\n"),
        ] {
            disk.put(format!("/data/routines/{id}.md"), routine(id, more).as_bytes());
        }
        let now: Zoned = "2026-11-28T12:00[Europe/Madrid]".parse().unwrap();
        let mut times = PlannedTimes::default();
        [0, 1, 1, 2, 2].into_iter().for_each(|ahead| times.add(ahead));
        let rests = ("routine:rests".to_owned(), PlannedTimes::default());
        let disk: Arc<dyn Disk> = Arc::new(disk);
        let planned = upcoming_runs(Path::new("/data"), &disk, &now);
        assert_eq!(planned, BTreeMap::from([("routine:mail".to_owned(), times), rests]));
    }
}
