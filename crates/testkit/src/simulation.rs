//! Randomized simulations of an assistant over days, determined by a seed.
//!
//! The event loop, the journal and the job files are real; the clock is simulated, and the model is
//! random. The user talks and changes files, the program crashes, the disk fails, and the clock is
//! set. Afterwards the oracle checks the data directory.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]

mod random_jobs;
mod random_model;
mod recall_check;
mod write_faults;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Assistant, Event, FileScan, Request, UserMessage};
use domain::context::{Names, instructions};
use domain::record::SurfaceName;
use domain::rng::Rng;
use domain::turn::TurnLimits;
use domain::{compaction::ContextWindow, retry_policy};
use engine::call_slots::CallSlots;
use engine::driver::Services;
use engine::event_loop::EventLoop;
use engine::handle::{AssistantHandle, Input};
use engine::ports::{Clock, Surface, ToolRunner};
use engine::simulation::{BlockingJournal, SimClock};
use jiff::{SignedDuration, Zoned};
use journal::disk::RealDisk;
use journal::jobs::JobFileScanner;
use journal::{HistoryMode, OpenParams, OpenedJournal, Paths};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, oneshot};
use tools::Toolbox;

use crate::oracle;
use random_jobs::RandomJobs;
use random_model::RandomModel;
use recall_check::RecallCheck;
use write_faults::{WriteFault, WriteFaults};

/// The longest interval between two checks for a simulated crash.
const MAX_STEP: Duration = Duration::from_secs(600);

/// A simulated assistant and its environment.
pub struct Simulation {
    seed: u64,
    rng: Rng,
    runtime: Runtime,
    dir: TempDir,
    clock: Arc<SimClock>,
    model: Arc<RandomModel>,
    write_faults: Arc<WriteFaults>,
    jobs: RandomJobs,
    history: RunHistory,
    event_loop: Option<(EventLoop, JobFileScanner)>,
}

/// The number of starts, and the results of the recall checks.
#[derive(Debug, Default)]
struct RunHistory {
    starts: u64,
    recall_check: RecallCheck,
}

/// Resource use at one moment.
#[derive(Clone, Copy, Debug)]
pub struct ResourceUse {
    /// The length of the assistant's state as debug text. Without the inbox: the model fills it,
    /// and the simulated user never removes anything.
    pub memory: usize,
    pub tasks: usize,
    /// The bytes of the state files, without the journal and the history of sessions, which are
    /// append-only (DD-7).
    pub state: u64,
}

/// A surface that ignores all updates.
struct NullSurface;

impl Surface for NullSurface {
    fn show(&self, _shown: &domain::assistant::Update) {}
}

impl Simulation {
    /// Creates a simulation that starts at `time`, such as `2026-03-27T00:00[Europe/Berlin]`, and
    /// is determined by `seed`.
    ///
    /// # Panics
    /// If `time` is invalid, or the environment cannot be created.
    pub fn new(time: &str, seed: u64) -> Self {
        let start: Zoned = time.parse().expect("a time with a zone");
        let clock = Arc::new(SimClock::new(&start));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory");
        let model = Arc::new(RandomModel::new(clock.clone(), seed ^ 0x5eed));
        let mut simulation = Self {
            seed,
            rng: Rng::new(seed),
            runtime,
            dir,
            clock,
            model,
            write_faults: Arc::default(),
            jobs: RandomJobs::default(),
            history: RunHistory::default(),
            event_loop: None,
        };
        simulation.start();
        simulation
    }

    /// Runs for `days`, and then for three quiet hours in which all open work ends.
    pub fn run(&mut self, days: u32) -> &mut Self {
        self.run_days(days).finish()
    }

    /// Runs for `days`.
    pub fn run_days(&mut self, days: u32) -> &mut Self {
        let end = self.clock.since_boot() + Duration::from_secs(u64::from(days) * 86_400);
        while self.clock.since_boot() < end {
            self.random_event();
            let minutes = 1 + self.pick(150);
            self.advance(Duration::from_secs(minutes * 60));
            self.check_recall();
        }
        self
    }

    /// Runs three quiet hours in which all open work ends, and stops the program.
    pub fn finish(&mut self) -> &mut Self {
        self.model.set_quiet();
        self.write_faults.reset();
        self.advance(Duration::from_secs(3 * 3_600));
        self.check_recall();
        self.stop();
        self
    }

    /// Returns all violations: the oracle's findings, occurrences that did not end, and lost state.
    ///
    /// # Panics
    /// If the journal cannot be read.
    pub fn violations(&self) -> Vec<String> {
        let mut violations = oracle::find_violations(self.dir.path());
        violations.extend(self.history.recall_check.differences.iter().cloned());
        let database = self.database();
        let sql = "SELECT source || ' at ' || due || ' is still ' || stage FROM occurrences WHERE stage IN \
                   ('running', 'asked', 'again', 'queued')";
        let mut open = database.prepare(sql).expect("rows");
        violations.extend(open.query_map([], |row| row.get(0)).expect("rows").map(|row| row.expect("a row")));
        let zone = self.clock.now().time_zone().clone();
        let now = self.clock.now().timestamp() - SignedDuration::from_mins(2);
        violations.extend(self.jobs.missing_occurrences(&database, (now, &zone)).expect("rows"));
        violations
    }

    /// Returns every row of the journal as text.
    ///
    /// # Panics
    /// If the journal cannot be read.
    pub fn rows(&self) -> String {
        let database = self.database();
        let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'words%' AND name NOT LIKE \
                   'sqlite%' ORDER BY name";
        let mut tables = database.prepare(sql).expect("tables");
        let tables: Vec<String> = tables
            .query_map([], |row| row.get(0))
            .expect("tables")
            .map(|name| name.expect("a name"))
            .collect();
        let mut text = String::new();
        for table in tables {
            let mut rows =
                database.prepare(&format!("SELECT * FROM {table} ORDER BY rowid")).expect("a table");
            let columns = rows.column_count();
            let mut rows = rows.query([]).expect("rows");
            while let Some(row) = rows.next().expect("a row") {
                let values = (0..columns).map(|at| format!("{:?}", row.get_ref(at).expect("a value")));
                let _ = writeln!(text, "{table} {}", values.collect::<Vec<_>>().join(" "));
            }
        }
        text
    }

    /// Returns how many occurrences ended in `stage`.
    ///
    /// # Panics
    /// If the journal cannot be read.
    pub fn count_occurrences(&self, stage: &str) -> u64 {
        let sql = "SELECT count(*) FROM occurrences WHERE stage = ?";
        self.database().query_row(sql, [stage], |row| row.get(0)).expect("a count")
    }

    /// Returns how many occurrences of the last 24 hours ended in `stage`. Older ones are
    /// eventually deleted.
    ///
    /// # Panics
    /// If the journal cannot be read.
    pub fn count_recent_occurrences(&self, stage: &str) -> u64 {
        let since = self.clock.now().timestamp() - SignedDuration::from_hours(24);
        let sql = "SELECT count(*) FROM occurrences WHERE stage = ? AND due >= ?";
        self.database().query_row(sql, (stage, since.as_microsecond()), |row| row.get(0)).expect("a count")
    }

    /// Returns how often the state in memory was compared with the journal.
    pub fn recall_checks(&self) -> u64 {
        self.history.recall_check.count
    }

    /// Returns the number of live tasks of the runtime.
    pub fn tasks(&self) -> usize {
        self.runtime.metrics().num_alive_tasks()
    }

    /// Returns the current resource use, without append-only files.
    ///
    /// # Panics
    /// If the state directory cannot be read.
    pub fn resource_use(&self) -> ResourceUse {
        let memory = self.event_loop.as_ref().map_or(0, |(event_loop, _)| {
            let all = event_loop.state();
            let inbox = &event_loop.state().inbox;
            format!("{all:?}").len() - format!("{inbox:?}").len()
        });
        let files = std::fs::read_dir(self.dir.path().join("state")).expect("a state directory");
        let is_append_only = |name: &str| name.starts_with("journal.db") || name == "session_history.jsonl";
        let state = files.flatten().filter(|file| !is_append_only(&file.file_name().to_string_lossy()));
        let state = state.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
        ResourceUse { memory, tasks: self.tasks(), state }
    }

    /// Compares the state in memory with the journal, except after a simulated crash that was not
    /// processed yet.
    fn check_recall(&mut self) {
        let Some((event_loop, _)) = self.event_loop.as_ref().filter(|_| !self.write_faults.has_crashed())
        else {
            return;
        };
        self.history.recall_check.compare(
            event_loop.state(),
            &Paths::new(self.dir.path()),
            &self.clock.now(),
        );
    }

    fn database(&self) -> Connection {
        Connection::open(self.dir.path().join("state/journal.db")).expect("a journal")
    }

    fn pick(&mut self, below: u64) -> u64 {
        (self.rng.next_u64() >> 33) % below
    }

    fn random_event(&mut self) {
        let nth = 1 + self.pick(12);
        let minutes = i64::try_from(self.pick(120)).unwrap_or(0);
        match self.pick(20) {
            0..4 => self.send_user_message(),
            4..9 => {
                let now = self.clock.now();
                let root = self.dir.path().to_owned();
                let changed = self.jobs.change_one(&root, &mut self.rng, (now.timestamp(), now.time_zone()));
                changed.expect("a file");
                self.scan_job_files();
            }
            9 => self.write_faults.plan(nth, WriteFault::Fail),
            10 => self.write_faults.plan(nth, WriteFault::CrashBefore),
            11 => self.write_faults.plan(nth, WriteFault::CrashAfter),
            12 => self.restart(SignedDuration::ZERO),
            13 => self.restart(SignedDuration::from_mins(minutes * 5)),
            // The machine sleeps, or the clock is set.
            14 => self.clock.set_forward(SignedDuration::from_mins(minutes * 4)),
            15 => self.clock.set_forward(SignedDuration::from_mins(-minutes)),
            _ => {}
        }
    }

    fn send_user_message(&mut self) {
        let text = format!("hello {}", self.pick(1_000_000));
        let Some((event_loop, _)) = &mut self.event_loop else { return };
        let (reply, _answer) = oneshot::channel();
        let request = Request::Say(UserMessage::from_text(SurfaceName::Terminal, &text));
        self.runtime.block_on(event_loop.handle(Input::Request(request, reply)));
    }

    /// Advances the time, restarts a crashed program, and scans the job files.
    fn advance(&mut self, time: Duration) {
        let end = self.clock.since_boot() + time;
        while self.clock.since_boot() < end {
            let step = MAX_STEP.min(end - self.clock.since_boot());
            if let Some((event_loop, _)) = &mut self.event_loop {
                self.runtime.block_on(event_loop.simulate(&self.clock, step));
            }
            if self.write_faults.has_crashed() {
                self.restart(SignedDuration::ZERO);
            }
        }
        self.scan_job_files();
    }

    fn scan_job_files(&mut self) {
        let now = self.clock.now().timestamp();
        let Some((event_loop, book)) = &mut self.event_loop else { return };
        let changes = book.scan(now);
        if !changes.is_empty() {
            self.runtime
                .block_on(event_loop.handle(Input::Event(Event::FilesChanged(changes, FileScan::Later))));
        }
    }

    /// Stops the program, shifts the clock, and starts it again.
    fn restart(&mut self, downtime: SignedDuration) {
        self.stop();
        self.clock.set_forward(downtime);
        self.start();
    }

    fn stop(&mut self) {
        if let Some((event_loop, _)) = self.event_loop.take() {
            self.runtime.block_on(event_loop.shut_down());
        }
        self.write_faults.reset();
    }

    fn start(&mut self) {
        self.history.starts += 1;
        let paths = Paths::new(self.dir.path());
        let now = self.clock.now();
        let disk = Arc::new(RealDisk);
        let zone = now.time_zone().clone();
        let place = OpenParams {
            paths: paths.clone(),
            disk: disk.clone(),
            zone: zone.clone(),
            now: now.timestamp(),
            pid: 1,
        };
        let OpenedJournal { journal, state: memory, .. } =
            journal::open_with_history(place, HistoryMode::Disabled).expect("a data directory");
        let tools = Arc::new(Toolbox::default());
        let names = Names { assistant: "ollim".to_owned(), user: "julius".to_owned() };
        let services = Services {
            model: self.model.clone(),
            tools: tools.clone(),
            journal: Arc::new(BlockingJournal {
                journal: Arc::new(journal),
                observer: self.write_faults.clone(),
            }),
            surface: Arc::new(NullSurface),
            instructions: instructions(&names),
            retry_limits: retry_policy::RetryLimits::NONE,
            limits: TurnLimits::DEFAULT,
            call_slots: Arc::new(CallSlots::new(Semaphore::MAX_PERMITS)),
        };
        let rng = Rng::new(self.seed.wrapping_mul(1_000_003) ^ self.history.starts);
        let assistant = Assistant::new(memory, tools.tools(), ContextWindow::DEFAULT, rng);
        let mut book = JobFileScanner::open(disk, &paths, zone);
        let changes = book.scan(now.timestamp());
        let _guard = self.runtime.enter();
        let mut event_loop = EventLoop::new(assistant, services, self.clock.clone(), AssistantHandle::new());
        for event in [Event::Started, Event::FilesChanged(changes, FileScan::First)] {
            self.runtime.block_on(event_loop.handle(Input::Event(event)));
        }
        drop(_guard);
        self.event_loop = Some((event_loop, book));
    }
}
