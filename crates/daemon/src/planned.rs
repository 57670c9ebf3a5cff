//! How often each routine still comes today and this month, for who reckons what that will cost.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use domain::cost::{Source, Times};
use domain::schedule::{Routine, Standing};
use jiff::Zoned;
use journal::Paths;
use journal::disk::Disk;
use journal::files::items::Items;

use crate::commands::jobs::{fires, pause, rows};

/// More than a routine that comes every minute has in a month.
const MOST: usize = 50_000;

/// How often each routine in the data directory `root` comes after `now`, by whose account it is.
pub fn planned(root: &Path, disk: &Arc<dyn Disk>, now: &Zoned) -> BTreeMap<String, Times> {
    let zone = now.time_zone();
    let items = Items::<Routine>::new(Arc::clone(disk), root, zone.clone());
    let next_month = now.last_of_month().and_then(|day| day.tomorrow()).and_then(|day| day.start_of_day());
    let next_month = next_month.unwrap_or_else(|_| now.clone()).timestamp();
    let mut planned = BTreeMap::new();
    let pause = pause(&Paths::new(root));
    for row in rows(&items).unwrap_or_default() {
        let source = row.source(Source::Routine).to_string();
        let Ok(job) = row.job else { continue };
        // What runs on main is paid for by main, and part of an average day there.
        if job.charter().standing() == Standing::Foreground {
            continue;
        }
        let mut times = Times::default();
        let fires = fires(&job.what, pause, now.timestamp(), zone).take(MOST);
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

    /// What runs aside is counted day by day until the month ends, and what runs on main is none of it.
    #[test]
    fn a_routine_is_planned_on_the_days_on_which_it_comes() {
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
        let mut times = Times::default();
        [0, 1, 1, 2, 2].into_iter().for_each(|ahead| times.add(ahead));
        let rests = ("routine:rests".to_owned(), Times::default());
        let disk: Arc<dyn Disk> = Arc::new(disk);
        let planned = planned(Path::new("/data"), &disk, &now);
        assert_eq!(planned, BTreeMap::from([("routine:mail".to_owned(), times), rests]));
    }
}
