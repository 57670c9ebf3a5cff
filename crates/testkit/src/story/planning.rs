//! Job files, passing time and occurrences in a story.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]

use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Answer, Event, Look, Planning, Question, Request};
use domain::cost::Source;
use domain::occurrence::{Occurrence, Stage};
use engine::ports::Clock;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use journal::disk::RealDisk;
use journal::jobs::JobBook;
use journal::peek;

use super::Story;

impl Story {
    /// Writes a job file, such as `routines/mail.md`, and lets the program scan it.
    pub fn file(&mut self, name: &str, text: &str) -> &mut Self {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(&path, text).expect("a file");
        self.looks(Look::Again)
    }

    /// Writes a job file without a scan; the program may be stopped.
    pub fn file_unseen(&mut self, name: &str, text: &str) -> &mut Self {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(&path, text).expect("a file");
        self
    }

    /// Removes a job file without a scan.
    ///
    /// # Panics
    /// If it does not exist.
    pub fn file_gone_unseen(&mut self, name: &str) -> &mut Self {
        std::fs::remove_file(self.dir.path().join(name)).expect("a file to remove");
        self
    }

    /// Removes a job file and lets the program scan.
    pub fn file_gone(&mut self, name: &str) -> &mut Self {
        std::fs::remove_file(self.dir.path().join(name)).expect("a file to remove");
        self.looks(Look::Again)
    }

    /// Returns true if a file exists.
    pub fn has_file(&self, name: &str) -> bool {
        self.dir.path().join(name).exists()
    }

    /// Returns the content of a file; empty if it does not exist.
    pub fn reads_file(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap_or_default()
    }

    /// Returns the sorted file names in a folder of the data directory.
    pub fn files(&self, folder: &str) -> Vec<String> {
        let listed = std::fs::read_dir(self.dir.path().join(folder)).into_iter().flatten();
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> =
            listed.map(name).map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Advances the time, runs due work, and scans job files meanwhile.
    pub fn passes(&mut self, time: &str) -> &mut Self {
        let time = duration(time);
        self.passes_quietly(time);
        let now = self.clock.now();
        self.teller.tell(format!("-- {}", now.strftime("%a %H:%M").to_string().to_lowercase()));
        self
    }

    /// Advances the time without a line in the transcript.
    pub fn passes_quietly(&mut self, time: SignedDuration) {
        let mut left = time.unsigned_abs();
        while !left.is_zero() {
            let step = left.min(Duration::from_secs(10));
            self.while_alive(async { tokio::time::sleep(step).await });
            left -= step;
            if self.house.is_some() {
                self.looks(Look::Again);
            }
        }
    }

    /// Returns the wall time.
    pub fn now(&self) -> jiff::Timestamp {
        self.clock.now().timestamp()
    }

    /// Puts the machine to sleep: the clocks advance without any activity.
    pub fn sleeps(&mut self, time: &str) -> &mut Self {
        let time = duration(time);
        self.clock.set_forward(time);
        self.teller.tell(format!("-- the machine sleeps for {time:#}"));
        self
    }

    /// Sets the wall clock forward or back; no time passes.
    pub fn clock_set(&mut self, by: &str) -> &mut Self {
        let by = duration(by);
        self.clock.set_forward(by);
        self.teller.tell(format!("-- the clock is set by {by:#}"));
        self
    }

    /// Restarts the program in another time zone, such as `Europe/Lisbon`.
    pub fn moves_to(&mut self, zone: &str) -> &mut Self {
        self.die();
        self.clock.set_zone(TimeZone::get(zone).expect("a zone such as `Europe/Lisbon`"));
        self.teller.tell(format!("-- moves to {zone}"));
        self.wake();
        self
    }

    /// Stops the program, shifts the clock, and starts it again.
    pub fn away(&mut self, time: &str) -> &mut Self {
        let away = duration(time);
        self.die();
        self.clock.set_forward(away);
        self.teller.tell(format!("-- away for {away:#}"));
        self.wake();
        self
    }

    /// Runs a job immediately and waits for its end.
    pub fn runs_now(&mut self, source: &str) -> &mut Self {
        let source: Source = source.parse().expect("a source such as `routine:mail`");
        let desk = self.living().desk.clone();
        let asked = Request::Plan(Planning::Now(source));
        match self.while_alive(desk.ask(asked)) {
            Some(Answer::Begun(turn)) => {
                self.while_alive(self.teller.heard_the_end_of_work(turn));
            }
            Some(Answer::Heard(message)) => {
                self.while_alive(self.teller.heard_the_end_of(message));
            }
            Some(Answer::Noted) => {}
            Some(answer) => self.teller.tell(format!("refused> {answer:?}")),
            None => {}
        }
        self
    }

    /// Pauses a job until it is resumed.
    pub fn lets_rest(&mut self, source: &str) -> &mut Self {
        let source: Source = source.parse().expect("a source such as `routine:mail`");
        let desk = self.living().desk.clone();
        let asked = Request::Plan(Planning::Rest(source, domain::schedule::Rest::ForNow));
        if let Some(Answer::Told(text)) = self.while_alive(desk.ask(asked)) {
            self.teller.tell(format!("told> {text}"));
        }
        self
    }

    /// Returns the content of the inbox.
    pub fn inbox(&self) -> String {
        let desk = self.living().desk.clone();
        match self.while_alive(desk.ask(Request::Tell(Question::Inbox))) {
            Some(Answer::Told(text)) => text,
            _ => String::new(),
        }
    }

    /// Returns the occurrences, oldest first, one line each.
    pub fn occurrences(&self) -> String {
        let zone = self.clock.now().time_zone().clone();
        let line = |occurrence: &Occurrence| {
            let due = occurrence.key.due.to_zoned(zone.clone()).strftime("%a %H:%M:%S").to_string();
            let stage = match &occurrence.stage {
                Stage::Running(_) => "running".to_owned(),
                Stage::Asked(_) => "asked".to_owned(),
                Stage::Again(_) => "again".to_owned(),
                Stage::Queued => "queued".to_owned(),
                Stage::Ended(end) => format!("{}: {}", end.as_str(), end.why()),
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
        let database = peek(&self.paths()).expect("a journal").expect("a journal");
        database.occurrences(None, u32::MAX).expect("occurrences")
    }

    /// Lets the program scan the job files.
    pub(super) fn looks(&mut self, look: Look) -> &mut Self {
        let now = self.clock.now();
        let paths = self.paths();
        if self.book.is_none() {
            self.book = Some(JobBook::open(Arc::new(RealDisk), &paths, now.time_zone().clone()));
        }
        let news = self.book.as_mut().map(|book| book.look(now.timestamp())).unwrap_or_default();
        if (!news.is_empty() || look == Look::First)
            && let Some(living) = &self.house
        {
            let desk = living.desk.clone();
            self.while_alive(desk.tell(Event::Files(news, look)));
        }
        self
    }
}

/// Parses a duration such as `3h` or `-2d`; a day is 24 hours.
fn duration(text: &str) -> SignedDuration {
    let span: jiff::Span = text.parse().expect("a time such as `3h`");
    span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).expect("a time of days at most")
}
