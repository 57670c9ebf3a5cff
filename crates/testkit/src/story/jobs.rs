//! Job files, passing time and occurrences in a story.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]

use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Answer, Event, FileScan, Query, Request, ScheduleCommand};
use domain::cost::CostSource;
use domain::occurrence::{Occurrence, OccurrenceState};
use engine::ports::Clock;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use journal::disk::RealDisk;
use journal::jobs::JobFileScanner;
use journal::open_read_only;

use super::Story;

impl Story {
    /// Writes a job file, such as `routines/mail.md`, and lets the program scan it.
    pub fn write_file(&mut self, name: &str, text: &str) -> &mut Self {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(&path, text).expect("a file");
        self.scan_job_files(FileScan::Later)
    }

    /// Writes a job file without a scan; the program may be stopped.
    pub fn write_file_unnoticed(&mut self, name: &str, text: &str) -> &mut Self {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(&path, text).expect("a file");
        self
    }

    /// Removes a job file without a scan.
    ///
    /// # Panics
    /// If it does not exist.
    pub fn remove_file_unnoticed(&mut self, name: &str) -> &mut Self {
        std::fs::remove_file(self.dir.path().join(name)).expect("a file to remove");
        self
    }

    /// Removes a job file and lets the program scan.
    pub fn remove_file(&mut self, name: &str) -> &mut Self {
        std::fs::remove_file(self.dir.path().join(name)).expect("a file to remove");
        self.scan_job_files(FileScan::Later)
    }

    /// Returns true if a file exists.
    pub fn has_file(&self, name: &str) -> bool {
        self.dir.path().join(name).exists()
    }

    /// Returns the content of a file; empty if it does not exist.
    pub fn read_file(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap_or_default()
    }

    /// Returns the sorted file names in a folder of the data directory.
    pub fn list_files(&self, folder: &str) -> Vec<String> {
        let listed = std::fs::read_dir(self.dir.path().join(folder)).into_iter().flatten();
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> =
            listed.map(name).map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Advances the time, runs due work, and scans job files meanwhile.
    pub fn advance_time(&mut self, time: &str) -> &mut Self {
        let time = parse_duration(time);
        self.advance_silently(time);
        let now = self.clock.now();
        self.transcript.push_line(format!("-- {}", now.strftime("%a %H:%M").to_string().to_lowercase()));
        self
    }

    /// Advances the time without a line in the transcript.
    pub fn advance_silently(&mut self, time: SignedDuration) {
        let mut remaining = time.unsigned_abs();
        while !remaining.is_zero() {
            let step = remaining.min(Duration::from_secs(10));
            self.while_alive(async { tokio::time::sleep(step).await });
            remaining -= step;
            if self.program.is_some() {
                self.scan_job_files(FileScan::Later);
            }
        }
    }

    /// Returns the wall time.
    pub fn now(&self) -> jiff::Timestamp {
        self.clock.now().timestamp()
    }

    /// Puts the machine to sleep: the clocks advance without any activity.
    pub fn machine_sleeps(&mut self, time: &str) -> &mut Self {
        let time = parse_duration(time);
        self.clock.shift_wall_clock(time);
        self.transcript.push_line(format!("-- the machine sleeps for {time:#}"));
        self
    }

    /// Sets the wall clock forward or back; no time passes.
    pub fn set_clock(&mut self, by: &str) -> &mut Self {
        let by = parse_duration(by);
        self.clock.shift_wall_clock(by);
        self.transcript.push_line(format!("-- the clock is set by {by:#}"));
        self
    }

    /// Restarts the program in another time zone, such as `Europe/Lisbon`.
    pub fn move_to_zone(&mut self, zone: &str) -> &mut Self {
        self.stop();
        self.clock.set_zone(TimeZone::get(zone).expect("a zone such as `Europe/Lisbon`"));
        self.transcript.push_line(format!("-- moves to {zone}"));
        self.start();
        self
    }

    /// Stops the program, shifts the clock, and starts it again.
    pub fn stop_for(&mut self, time: &str) -> &mut Self {
        let downtime = parse_duration(time);
        self.stop();
        self.clock.shift_wall_clock(downtime);
        self.transcript.push_line(format!("-- away for {downtime:#}"));
        self.start();
        self
    }

    /// Runs a job immediately and waits for its end.
    pub fn run_now(&mut self, source: &str) -> &mut Self {
        let source: CostSource = source.parse().expect("a source such as `routine:mail`");
        let assistant = self.live_program().assistant.clone();
        let request = Request::Schedule(ScheduleCommand::FireNow(source));
        match self.while_alive(assistant.ask(request)) {
            Some(Answer::TurnStarted(turn)) => {
                self.while_alive(self.transcript.wait_for_turn(turn));
            }
            Some(Answer::MessageQueued(message)) => {
                self.while_alive(self.transcript.wait_for_answer(message));
            }
            Some(Answer::Done) => {}
            Some(answer) => self.transcript.push_line(format!("refused> {answer:?}")),
            None => {}
        }
        self
    }

    /// Pauses a job until it is resumed.
    pub fn pause_job(&mut self, source: &str) -> &mut Self {
        let source: CostSource = source.parse().expect("a source such as `routine:mail`");
        let assistant = self.live_program().assistant.clone();
        let request =
            Request::Schedule(ScheduleCommand::Pause(source, domain::schedule::PauseState::Indefinite));
        if let Some(Answer::Text(text)) = self.while_alive(assistant.ask(request)) {
            self.transcript.push_line(format!("told> {text}"));
        }
        self
    }

    /// Returns the content of the inbox.
    pub fn inbox(&self) -> String {
        let assistant = self.live_program().assistant.clone();
        match self.while_alive(assistant.ask(Request::Query(Query::Inbox))) {
            Some(Answer::Text(text)) => text,
            _ => String::new(),
        }
    }

    /// Returns the occurrences, oldest first, one line each.
    pub fn occurrences(&self) -> String {
        let zone = self.clock.now().time_zone().clone();
        let line = |occurrence: &Occurrence| {
            let due = occurrence.key.due.to_zoned(zone.clone()).strftime("%a %H:%M:%S").to_string();
            let stage = match &occurrence.state {
                OccurrenceState::Running(_) => "running".to_owned(),
                OccurrenceState::SentToMain(_) => "asked".to_owned(),
                OccurrenceState::Retrying(_) => "again".to_owned(),
                OccurrenceState::Queued => "queued".to_owned(),
                OccurrenceState::Ended(end) => format!("{}: {}", end.as_str(), end.note()),
            };
            let stage = stage.trim_end_matches(": ");
            format!("{} {} try {} {stage}", due.to_lowercase(), occurrence.key.source, occurrence.tries)
        };
        let mut all = self.all_occurrences();
        all.sort_by(|one, other| one.key.due.cmp(&other.key.due).then(one.key.cmp(&other.key)));
        all.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Returns all occurrences.
    pub fn all_occurrences(&self) -> Vec<Occurrence> {
        let database = open_read_only(&self.paths()).expect("a journal").expect("a journal");
        database.occurrences(None, u32::MAX).expect("occurrences")
    }

    /// Lets the program scan the job files.
    pub(super) fn scan_job_files(&mut self, look: FileScan) -> &mut Self {
        let now = self.clock.now();
        let paths = self.paths();
        if self.job_book.is_none() {
            self.job_book = Some(JobFileScanner::open(Arc::new(RealDisk), &paths, now.time_zone().clone()));
        }
        let changes = self.job_book.as_mut().map(|book| book.scan(now.timestamp())).unwrap_or_default();
        if (!changes.is_empty() || look == FileScan::First)
            && let Some(program) = &self.program
        {
            let assistant = program.assistant.clone();
            self.while_alive(assistant.send_event(Event::FilesChanged(changes, look)));
        }
        self
    }
}

/// Parses a duration such as `3h` or `-2d`; a day is 24 hours.
fn parse_duration(text: &str) -> SignedDuration {
    let span: jiff::Span = text.parse().expect("a time such as `3h`");
    span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).expect("a time of days at most")
}
