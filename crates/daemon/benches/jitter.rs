//! Jitter: how late jobs begin, by the clock of the wall. Nine hundred are due at once and go on; then others are due, one
//! a second, beside them. Late is the time from when a job is due until its first request goes to the model.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made stops the bench at once")]

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::assistant::{Assistant, Event, Look, Shown};
use domain::compaction::Room;
use domain::context::{Context, Names, instructions};
use domain::conversation::Said;
use domain::dice::Dice;
use domain::failure::Failure;
use domain::patience;
use domain::turn::{Limits, Reply};
use engine::desk::{Desk, Letter};
use engine::drive::World;
use engine::ports::{Clock, Hands as _, Listener, Model, Surface};
use engine::run::House;
use futures_util::future::BoxFuture;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use journal::disk::RealDisk;
use journal::jobs::JobBook;
use journal::{Opened, Paths, Place};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tools::Toolbox;

/// How many are due at once, and how many one after the other.
const AT_ONCE: i64 = 900;
const ALONE: i64 = 40;
/// How long the reading of the files may take before the first is due.
const BEFORE: SignedDuration = SignedDuration::from_secs(4);
/// How long lies between those that are due at once and the first of the others.
const BETWEEN: SignedDuration = SignedDuration::from_secs(4);

/// The clock of the wall.
#[derive(Clone, Copy)]
struct Wall(Instant);

impl Clock for Wall {
    #[expect(clippy::disallowed_methods, reason = "what is measured is the time of the wall")]
    fn now(&self) -> Zoned {
        Timestamp::now().to_zoned(TimeZone::UTC)
    }

    fn boot(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A model that never answers, and says when it was asked, and by whom.
struct Silent(mpsc::UnboundedSender<(String, Timestamp)>, Wall);

impl Model for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    fn reply<'a>(&'a self, context: &'a Context, _: Listener<'a>) -> BoxFuture<'a, Result<Reply, Failure>> {
        let at = self.1.now().timestamp();
        let words = match context.said.last().map(AsRef::as_ref) {
            Some(Said::Human(heard)) => heard.preface.clone(),
            Some(Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_)) | None => {
                String::new()
            }
        };
        let _ = self.0.send((words, at));
        Box::pin(std::future::pending())
    }
}

/// Nobody looks.
struct Nobody;

impl Surface for Nobody {
    fn show(&self, _shown: &Shown) {}
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure());
}

async fn measure() {
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let now = clock().now();
    let first = Timestamp::from_second((now.timestamp() + BEFORE).as_second()).unwrap();
    lay_out(dir.path(), first);
    let (asked, mut all) = mpsc::unbounded_channel();
    let stop = CancellationToken::new();
    let mut tasks = JoinSet::new();
    tasks.spawn(open(dir.path(), asked).await.run(stop.clone()));
    let (mut at_once, mut alone) = (Vec::new(), Vec::new());
    while at_once.len() + alone.len() < usize::try_from(AT_ONCE + ALONE).unwrap() {
        let (words, at) = all.recv().await.unwrap();
        let number: i64 = words.rsplit("number ").next().unwrap().trim_end_matches('.').parse().unwrap();
        let late = at.duration_since(due(first, number));
        if number < AT_ONCE { at_once.push(late) } else { alone.push(late) }
    }
    stop.cancel();
    while tasks.join_next().await.is_some() {}
    at_once.sort_unstable();
    alone.sort_unstable();
    let mut out = std::io::stdout();
    writeln!(out, "the last of 900 at once: {} ns", at_once[at_once.len() - 1].as_nanos()).unwrap();
    writeln!(out, "jitter beside 900 runs, median: {} ns", alone[alone.len() / 2].as_nanos()).unwrap();
    writeln!(out, "jitter beside 900 runs, p99: {} ns", alone[alone.len() - 1].as_nanos()).unwrap();
}

fn clock() -> Wall {
    Wall(Instant::now())
}

fn due(first: Timestamp, number: i64) -> Timestamp {
    match number < AT_ONCE {
        true => first,
        false => first + BETWEEN + SignedDuration::from_secs(number - AT_ONCE),
    }
}

fn lay_out(data: &Path, first: Timestamp) {
    std::fs::create_dir_all(data.join("reminders")).unwrap();
    for number in 0..AT_ONCE + ALONE {
        let at = due(first, number).strftime("%Y-%m-%dT%H:%M:%S+00:00");
        let head = format!("---\nid: m{number}\nrun-at: {at}\nbackground: true\nisolated: true\n---\n");
        let text = format!("{head}number {number}.\n");
        std::fs::write(data.join(format!("reminders/m{number}.md")), text).unwrap();
    }
}

async fn open(data: &Path, asked: mpsc::UnboundedSender<(String, Timestamp)>) -> House {
    let (paths, now) = (Paths::new(data), clock().now());
    let (disk, zone) = (Arc::new(RealDisk), now.time_zone().clone());
    let place = Place {
        paths: paths.clone(),
        disk: disk.clone(),
        zone: zone.clone(),
        now: now.timestamp(),
        pid: std::process::id(),
    };
    let Opened { journal, memory, .. } = journal::open(place).unwrap();
    let hands = Arc::new(Toolbox::default());
    let names = Names { assistant: "ollim".to_owned(), human: "julius".to_owned() };
    let world = World {
        model: Arc::new(Silent(asked, clock())),
        hands: hands.clone(),
        journal: Arc::new(journal),
        surface: Arc::new(Nobody),
        instructions: instructions(&names),
        patience: patience::Limits::HOUSE,
        limits: Limits::HOUSE,
        calls: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
    };
    let assistant = Assistant::new(memory, hands.tools(), Room::HOUSE, Dice::new(1));
    let news = JobBook::open(disk, &paths, zone).look(now.timestamp());
    let mut house = House::new(assistant, world, Arc::new(clock()), Desk::new());
    for event in [Event::Started, Event::Files(news, Look::First)] {
        house.open(Letter::Happened(event)).await;
    }
    house
}
