//! Randomly written job files of a simulation, and the occurrences that each routine must have.

use std::collections::BTreeMap;
use std::path::Path;

use domain::rng::Rng;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, params};

/// The files written so far.
#[derive(Debug, Default)]
pub struct RandomJobs {
    written: BTreeMap<String, RoutineSchedule>,
    count: u64,
}

/// The schedule of a routine, computed independently of the program.
#[derive(Clone, Debug)]
struct RoutineSchedule {
    /// When the program first saw it.
    since: Timestamp,
    /// The interval in minutes: 60 is every hour, others apply from 9 to 12; `None` is daily at
    /// `at`.
    every: Option<i8>,
    at: (i8, i8),
    /// Set when the file was changed or removed later.
    changed: bool,
}

impl RandomJobs {
    /// Writes, changes or removes one file.
    pub fn change_one(
        &mut self,
        root: &Path,
        rng: &mut Rng,
        now: (Timestamp, &TimeZone),
    ) -> std::io::Result<()> {
        let mut pick = |below: u64| (rng.next_u64() >> 33) % below;
        let known: Vec<String> = self.written.keys().cloned().collect();
        match (pick(6), known.len() < 5) {
            (0, false) => self.remove(root, &known[usize::try_from(pick(known.len() as u64)).unwrap_or(0)]),
            (1, _) if known.len() > 1 => {
                let file = known[usize::try_from(pick(known.len() as u64)).unwrap_or(0)].clone();
                self.write_routine(root, &file, &mut pick, now.0)
            }
            (2 | 3, _) => self.write_reminder(root, &mut pick, now),
            (_, true) => {
                self.count += 1;
                let file = format!("r{}", self.count);
                self.write_routine(root, &file, &mut pick, now.0)
            }
            (_, false) => Ok(()),
        }
    }

    fn remove(&mut self, root: &Path, id: &str) -> std::io::Result<()> {
        self.written.entry(id.to_owned()).and_modify(|schedule| schedule.changed = true);
        let path = root.join(format!("routines/{id}.md"));
        if path.exists() { std::fs::remove_file(path) } else { Ok(()) }
    }

    fn write_routine(
        &mut self,
        root: &Path,
        id: &str,
        pick: &mut impl FnMut(u64) -> u64,
        since: Timestamp,
    ) -> std::io::Result<()> {
        let every = [None, None, None, Some(60), Some(20), Some(15)][usize::try_from(pick(6)).unwrap_or(0)];
        let small = |number: u64| i8::try_from(number).unwrap_or(0);
        // Outside the hours of daylight saving changes, between one and three.
        let at = (small(4 + pick(20)), small(pick(60)));
        let cron = match every {
            Some(60) => "0 * * * *".to_owned(),
            Some(minutes) => format!("*/{minutes} 9-11 * * *"),
            None => format!("{} {} * * *", at.1, at.0),
        };
        let options = [
            "background: true\n",
            "background: true\noverlap: queue\nupdate-main-session: always\n",
            "background: true\nsession: persistent\n",
            "background: true\nisolated: true\nupdate-main-session: freely\n",
            "background: true\nallow-ping: false\nupdate-main-session: blocked\n",
            "",
        ][usize::try_from(pick(6)).unwrap_or(0)];
        let touched = self.written.contains_key(id);
        self.written.insert(id.to_owned(), RoutineSchedule { since, every, at, changed: touched });
        std::fs::create_dir_all(root.join("routines"))?;
        let text = format!("---\nid: {id}\ncron: \"{cron}\"\n{options}---\nDo {id}.\n");
        std::fs::write(root.join(format!("routines/{id}.md")), text)
    }

    fn write_reminder(
        &mut self,
        root: &Path,
        pick: &mut impl FnMut(u64) -> u64,
        (now, zone): (Timestamp, &TimeZone),
    ) -> std::io::Result<()> {
        self.count += 1;
        let id = self.count;
        let wait = i64::try_from(pick(600)).unwrap_or(0) - 30;
        let due = (now + SignedDuration::from_mins(wait))
            .to_zoned(zone.clone())
            .strftime("%Y-%m-%dT%H:%M:%S%:z")
            .to_string();
        let options = ["", "background: true\n", "max-chain: 3\n", "background: true\nmax-chain: 2\n"]
            [usize::try_from(pick(4)).unwrap_or(0)];
        std::fs::create_dir_all(root.join("reminders"))?;
        let text = format!("---\nid: m{id}\nrun-at: {due}\n{options}---\nMind thing {id}.\n");
        std::fs::write(root.join(format!("reminders/m{id}.md")), text)
    }

    /// Returns the due times until `now` of unchanged routines that have no row in the journal.
    pub fn missing_occurrences(
        &self,
        database: &Connection,
        now: (Timestamp, &TimeZone),
    ) -> rusqlite::Result<Vec<String>> {
        let sql =
            "SELECT count(*) FROM occurrences WHERE source = ?1 AND ?2 BETWEEN due AND coalesce(last, due)";
        let mut statement = database.prepare(sql)?;
        let mut missing = Vec::new();
        for (id, schedule) in self.written.iter().filter(|(_, schedule)| !schedule.changed) {
            for due in schedule.due_times(now) {
                let row = params![format!("routine:{id}"), due.as_microsecond()];
                if statement.query_row(row, |row| row.get::<_, i64>(0))? != 1 {
                    missing
                        .push(format!("routine:{id} was due at {due}, and nobody knows what became of it"));
                }
            }
        }
        Ok(missing)
    }
}

impl RoutineSchedule {
    /// Returns every due time since it was first seen, by checking every minute.
    fn due_times(&self, (now, zone): (Timestamp, &TimeZone)) -> impl Iterator<Item = Timestamp> {
        let minute = SignedDuration::from_mins(1);
        let first = Timestamp::from_second(self.since.as_second().div_euclid(60) * 60).unwrap_or(self.since);
        let minutes = std::iter::successors(Some(first), move |at| Some(*at + minute));
        let minutes = minutes.take_while(move |at| *at <= now).filter(|at| *at > self.since);
        minutes.filter(move |at| {
            let wall = at.to_zoned(zone.clone());
            match self.every {
                Some(60) => wall.minute() == 0,
                Some(every) => (9..12).contains(&wall.hour()) && wall.minute() % every == 0,
                None => (wall.hour(), wall.minute()) == self.at,
            }
        })
    }
}
