//! Randomized simulations of an assistant over days, determined by a seed.
//!
//! The event loop, the journal and the job files are real; the clock is simulated, and the model is
//! random. The user talks and changes files, the program crashes, the disk fails, and the clock is
//! set. Afterwards the oracle checks the data directory.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]

mod doom;
mod jobs;
mod recall;
mod wild;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Assistant, Event, Look, Request, Saying};
use domain::context::{Names, instructions};
use domain::dice::Dice;
use domain::record::SurfaceName;
use domain::turn::Limits;
use domain::{compaction::Room, patience};
use engine::desk::{Desk, Letter};
use engine::drive::World;
use engine::places::Places;
use engine::played::{AtOnce, PlayedClock};
use engine::ports::{Clock, Hands, Surface};
use engine::run::House;
use jiff::{SignedDuration, Zoned};
use journal::disk::RealDisk;
use journal::jobs::JobBook;
use journal::{Opened, Paths, Place, Tracked};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, oneshot};
use tools::Toolbox;

use crate::oracle;
use doom::{Doom, Trouble};
use jobs::Jobs;
use recall::Recalled;
use wild::Wild;

/// The longest interval between two checks for a simulated crash.
const STEP: Duration = Duration::from_secs(600);

/// A simulated assistant and its environment.
pub struct Life {
    seed: u64,
    dice: Dice,
    runtime: Runtime,
    dir: TempDir,
    clock: Arc<PlayedClock>,
    model: Arc<Wild>,
    doom: Arc<Doom>,
    jobs: Jobs,
    past: Past,
    house: Option<(House, JobBook)>,
}

/// The number of starts, and the results of the recall checks.
#[derive(Debug, Default)]
struct Past {
    lives: u64,
    recalled: Recalled,
}

/// Resource use at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The length of the assistant's state as debug text. Without the inbox: the model fills it,
    /// and the simulated user never removes anything.
    pub memory: usize,
    pub tasks: usize,
    /// The bytes of the state files, without the journal and the history of sessions, which are
    /// append-only (DD-7).
    pub state: u64,
}

/// A surface that ignores all updates.
struct Nobody;

impl Surface for Nobody {
    fn show(&self, _shown: &domain::assistant::Shown) {}
}

impl Life {
    /// Creates a simulation that starts at `time`, such as `2026-03-27T00:00[Europe/Berlin]`, and
    /// is determined by `seed`.
    ///
    /// # Panics
    /// If `time` is invalid, or the environment cannot be created.
    pub fn new(time: &str, seed: u64) -> Self {
        let start: Zoned = time.parse().expect("a time with a zone");
        let clock = Arc::new(PlayedClock::new(&start));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory");
        let model = Arc::new(Wild::new(clock.clone(), seed ^ 0x5eed));
        let mut life = Self {
            seed,
            dice: Dice::new(seed),
            runtime,
            dir,
            clock,
            model,
            doom: Arc::default(),
            jobs: Jobs::default(),
            past: Past::default(),
            house: None,
        };
        life.wake();
        life
    }

    /// Runs for `days`, and then for three quiet hours in which all open work ends.
    pub fn live(&mut self, days: u32) -> &mut Self {
        self.go_on(days).end()
    }

    /// Runs for `days`.
    pub fn go_on(&mut self, days: u32) -> &mut Self {
        let end = self.clock.boot() + Duration::from_secs(u64::from(days) * 86_400);
        while self.clock.boot() < end {
            self.something_happens();
            let minutes = 1 + self.pick(150);
            self.passes(Duration::from_secs(minutes * 60));
            self.recall();
        }
        self
    }

    /// Runs three quiet hours in which all open work ends, and stops the program.
    pub fn end(&mut self) -> &mut Self {
        self.model.calm_down();
        self.doom.end();
        self.passes(Duration::from_secs(3 * 3_600));
        self.recall();
        self.die();
        self
    }

    /// Returns all violations: the oracle's findings, occurrences that did not end, and lost state.
    ///
    /// # Panics
    /// If the journal cannot be read.
    pub fn wrong(&self) -> Vec<String> {
        let mut wrong = oracle::examine(self.dir.path());
        wrong.extend(self.past.recalled.otherwise.iter().cloned());
        let database = self.database();
        let sql = "SELECT source || ' at ' || due || ' is still ' || stage FROM occurrences WHERE stage IN \
                   ('running', 'asked', 'again', 'queued')";
        let mut open = database.prepare(sql).expect("rows");
        wrong.extend(open.query_map([], |row| row.get(0)).expect("rows").map(|row| row.expect("a row")));
        let zone = self.clock.now().time_zone().clone();
        let now = self.clock.now().timestamp() - SignedDuration::from_mins(2);
        wrong.extend(self.jobs.lost(&database, (now, &zone)).expect("rows"));
        wrong
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
    pub fn count(&self, stage: &str) -> u64 {
        let sql = "SELECT count(*) FROM occurrences WHERE stage = ?";
        self.database().query_row(sql, [stage], |row| row.get(0)).expect("a count")
    }

    /// Returns how many occurrences of the last 24 hours ended in `stage`. Older ones are
    /// eventually deleted.
    ///
    /// # Panics
    /// If the journal cannot be read.
    pub fn count_of_a_day(&self, stage: &str) -> u64 {
        let since = self.clock.now().timestamp() - SignedDuration::from_hours(24);
        let sql = "SELECT count(*) FROM occurrences WHERE stage = ? AND due >= ?";
        self.database().query_row(sql, (stage, since.as_microsecond()), |row| row.get(0)).expect("a count")
    }

    /// Returns how often the state in memory was compared with the journal.
    pub fn recalled(&self) -> u64 {
        self.past.recalled.times
    }

    /// Returns the number of live tasks of the runtime.
    pub fn tasks(&self) -> usize {
        self.runtime.metrics().num_alive_tasks()
    }

    /// Returns the current resource use, without append-only files.
    ///
    /// # Panics
    /// If the state directory cannot be read.
    pub fn size(&self) -> Size {
        let memory = self.house.as_ref().map_or(0, |(house, _)| {
            let all = house.knows();
            let inbox = &house.knows().inbox;
            format!("{all:?}").len() - format!("{inbox:?}").len()
        });
        let files = std::fs::read_dir(self.dir.path().join("state")).expect("a state directory");
        let grows = |name: &str| name.starts_with("journal.db") || name == "session_history.jsonl";
        let state = files.flatten().filter(|file| !grows(&file.file_name().to_string_lossy()));
        let state = state.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
        Size { memory, tasks: self.tasks(), state }
    }

    /// Compares the state in memory with the journal, except after a simulated crash that was not
    /// processed yet.
    fn recall(&mut self) {
        let Some((house, _)) = self.house.as_ref().filter(|_| !self.doom.is_dead()) else { return };
        self.past.recalled.hold(house.knows(), &Paths::new(self.dir.path()), &self.clock.now());
    }

    fn database(&self) -> Connection {
        Connection::open(self.dir.path().join("state/journal.db")).expect("a journal")
    }

    fn pick(&mut self, below: u64) -> u64 {
        (self.dice.roll() >> 33) % below
    }

    fn something_happens(&mut self) {
        let nth = 1 + self.pick(12);
        let minutes = i64::try_from(self.pick(120)).unwrap_or(0);
        match self.pick(20) {
            0..4 => self.human_says(),
            4..9 => {
                let now = self.clock.now();
                let root = self.dir.path().to_owned();
                let stirred = self.jobs.stir(&root, &mut self.dice, (now.timestamp(), now.time_zone()));
                stirred.expect("a file");
                self.look();
            }
            9 => self.doom.plan(nth, Trouble::Fails),
            10 => self.doom.plan(nth, Trouble::DiesBefore),
            11 => self.doom.plan(nth, Trouble::DiesAfter),
            12 => self.restart(SignedDuration::ZERO),
            13 => self.restart(SignedDuration::from_mins(minutes * 5)),
            // The machine sleeps, or the clock is set.
            14 => self.clock.set_forward(SignedDuration::from_mins(minutes * 4)),
            15 => self.clock.set_forward(SignedDuration::from_mins(-minutes)),
            _ => {}
        }
    }

    fn human_says(&mut self) {
        let text = format!("hello {}", self.pick(1_000_000));
        let Some((house, _)) = &mut self.house else { return };
        let (reply, _answer) = oneshot::channel();
        let asked = Request::Say(Saying::words(SurfaceName::Terminal, &text));
        self.runtime.block_on(house.open(Letter::Asked(asked, reply)));
    }

    /// Advances the time, restarts a crashed program, and scans the job files.
    fn passes(&mut self, time: Duration) {
        let end = self.clock.boot() + time;
        while self.clock.boot() < end {
            let step = STEP.min(end - self.clock.boot());
            if let Some((house, _)) = &mut self.house {
                self.runtime.block_on(house.play(&self.clock, step));
            }
            if self.doom.is_dead() {
                self.restart(SignedDuration::ZERO);
            }
        }
        self.look();
    }

    fn look(&mut self) {
        let now = self.clock.now().timestamp();
        let Some((house, book)) = &mut self.house else { return };
        let news = book.look(now);
        if !news.is_empty() {
            self.runtime.block_on(house.open(Letter::Happened(Event::Files(news, Look::Again))));
        }
    }

    /// Stops the program, shifts the clock, and starts it again.
    fn restart(&mut self, away: SignedDuration) {
        self.die();
        self.clock.set_forward(away);
        self.wake();
    }

    fn die(&mut self) {
        if let Some((house, _)) = self.house.take() {
            self.runtime.block_on(house.leave());
        }
        self.doom.end();
    }

    fn wake(&mut self) {
        self.past.lives += 1;
        let paths = Paths::new(self.dir.path());
        let now = self.clock.now();
        let disk = Arc::new(RealDisk);
        let zone = now.time_zone().clone();
        let place = Place {
            paths: paths.clone(),
            disk: disk.clone(),
            zone: zone.clone(),
            now: now.timestamp(),
            pid: 1,
        };
        let Opened { journal, memory, .. } =
            journal::open_with(place, Tracked::Nowhere).expect("a data directory");
        let hands = Arc::new(Toolbox::default());
        let names = Names { assistant: "ollim".to_owned(), human: "julius".to_owned() };
        let world = World {
            model: self.model.clone(),
            hands: hands.clone(),
            journal: Arc::new(AtOnce { journal: Arc::new(journal), watching: self.doom.clone() }),
            surface: Arc::new(Nobody),
            instructions: instructions(&names),
            patience: patience::Limits::NONE,
            limits: Limits::HOUSE,
            calls: Arc::new(Places::new(Semaphore::MAX_PERMITS)),
        };
        let dice = Dice::new(self.seed.wrapping_mul(1_000_003) ^ self.past.lives);
        let assistant = Assistant::new(memory, hands.tools(), Room::HOUSE, dice);
        let mut book = JobBook::open(disk, &paths, zone);
        let news = book.look(now.timestamp());
        let _inside = self.runtime.enter();
        let mut house = House::new(assistant, world, self.clock.clone(), Desk::new());
        for event in [Event::Started, Event::Files(news, Look::First)] {
            self.runtime.block_on(house.open(Letter::Happened(event)));
        }
        drop(_inside);
        self.house = Some((house, book));
    }
}
