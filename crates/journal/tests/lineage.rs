//! The stored lineage: topics of forks, and how many moves are read.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]
#![expect(clippy::disallowed_methods, reason = "the test creates an old database without the trait Disk")]

use std::sync::Arc;

use domain::conversation::{Branch, Conversation, Heard, Lineage, Said, SessionId, Why, draw};
use domain::fork::{Entering, Fork};
use domain::record::{ForkChange, MessageId, Record};
use engine::ports::Journal as _;
use expect_test::expect;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::disk::RealDisk;
use journal::{Journal, Opened, Paths, Place};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A journal in which events happen one minute apart.
struct Life {
    _dir: TempDir,
    runtime: Runtime,
    journal: Journal,
    conversation: Conversation,
    minute: i64,
}

impl Life {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let paths = Paths::new(dir.path());
        let disk = Arc::new(RealDisk);
        let now = at(0);
        let place = Place { paths, disk, zone: TimeZone::UTC, now, pid: 1 };
        let Opened { journal, memory, .. } = journal::open(place).unwrap();
        let mut life = Self { _dir: dir, runtime, journal, conversation: memory.conversation, minute: 0 };
        let now = life.now();
        let created = life.conversation.create(Branch::Main, session("main"), now);
        life.write(vec![Record::Moved(created)]);
        life
    }

    fn now(&mut self) -> Timestamp {
        self.minute += 1;
        at(self.minute)
    }

    fn write(&self, records: Vec<Record>) {
        self.runtime.block_on(self.journal.write(records)).unwrap();
    }

    fn say(&mut self, branch: &Branch) {
        let heard = Heard { preface: String::new(), text: "x".to_owned(), images: Vec::new() };
        let now = self.now();
        let entry = self.conversation.say(branch, Said::Human(heard), now).unwrap();
        self.write(vec![Record::Said(branch.clone(), entry)]);
    }

    fn fork(&mut self, name: &str, topic: Option<&str>) -> Branch {
        let branch = Branch::fork(name).unwrap();
        let now = self.now();
        let forked = self.conversation.fork(&Branch::Main, branch.clone(), session(name), now).unwrap();
        let topic = topic.map(str::to_owned);
        let entering = Entering { topic, idle_minutes: None, until: MessageId(0) };
        let fork = Fork::begun(branch.clone(), None, entering, now);
        self.write(vec![Record::Moved(forked), Record::Fork(ForkChange::Open(fork))]);
        branch
    }

    fn end(&mut self, branch: &Branch, why: Why) {
        let now = self.now();
        let ended = self.conversation.end(branch, why, now).unwrap();
        self.write(vec![Record::Moved(ended), Record::Fork(ForkChange::Ended(branch.clone()))]);
    }

    fn save(&mut self, branch: &Branch) {
        let now = self.now();
        let moves = self.conversation.promote(branch, now).unwrap().map(Record::Moved);
        self.write(moves.into_iter().chain([Record::Fork(ForkChange::Ended(branch.clone()))]).collect());
    }

    fn lineage(&self, limit: u32) -> Lineage {
        self.runtime.block_on(self.journal.lineage(limit)).unwrap()
    }

    fn drawn(&self, limit: u32) -> String {
        draw(&self.lineage(limit), &TimeZone::UTC)
    }
}

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_794_700_800 + minute * 60).unwrap()
}

fn session(name: &str) -> SessionId {
    SessionId::read(&format!("{name}-session")).unwrap()
}

#[test]
fn what_a_fork_was_about_is_known_after_it_ended() {
    let mut life = Life::new();
    life.say(&Branch::Main);
    let trip = life.fork("trip", Some("lisbon in march"));
    life.say(&trip);
    life.save(&trip);
    let quiet = life.fork("quiet", None);
    life.say(&quiet);
    life.end(&quiet, Why::Lapsed);
    life.fork("open", Some("insurance"));

    expect![[r#"
        ●    main · now · trip-ses · 2 entries
        ┃ ◉  fork/open · insurance · open · open-ses · 0 entries
        ┣─╯  fork/open started 2026-11-15 00:09 · insurance · open-ses
        ┃ ◌  fork/quiet lapsed 2026-11-15 00:08 · 1 entry
        ┣─╯  fork/quiet started 2026-11-15 00:06 · quiet-se
        ┃◀╮  fork/trip saved 2026-11-15 00:05 · lisbon in march · 1 entry · main main-ses → trip-ses
        ┣─╯  fork/trip started 2026-11-15 00:03 · lisbon in march · trip-ses
        ○    created 2026-11-15 00:01 · main-ses
    "#]]
    .assert_eq(&life.drawn(u32::MAX));
}

#[test]
fn a_fork_that_is_told_of_is_told_from_its_beginning() {
    let mut life = Life::new();
    life.say(&Branch::Main);
    let long = life.fork("long", Some("the long one"));
    let open = life.fork("open", None);
    life.say(&open);
    for name in ["a", "b", "c"] {
        let fork = life.fork(name, None);
        life.end(&fork, Why::Dropped);
    }
    life.say(&long);
    life.say(&long);
    life.end(&long, Why::Reported);

    expect![[r#"
        ●        main · now · main-ses · 1 entry
        ┃   ◉    fork/open · open · open-ses · 1 entry
        ┃◁╮ │    fork/long reported 2026-11-15 00:14 · the long one · 2 entries
        ┃ │ │ ✕  fork/c dropped 2026-11-15 00:11 · 0 entries
        ┣─┼─┼─╯  fork/c started 2026-11-15 00:10 · c-sessio
        ┣─┼─╯    fork/open started 2026-11-15 00:04 · open-ses
        ┣─╯      fork/long started 2026-11-15 00:03 · the long one · long-ses
        5 older moves are left out.
    "#]]
    .assert_eq(&life.drawn(2));
    assert_eq!(life.lineage(1000).older, 0);
}

/// The program is updated, and the journal is read before the new version has run.
#[test]
fn a_journal_from_before_forks_had_topics_can_be_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::new(dir.path());
    std::fs::create_dir_all(paths.state()).unwrap();
    let before = rusqlite::Connection::open(paths.database()).unwrap();
    let old = [include_str!("../src/db/format_1.sql"), include_str!("../src/db/format_2.sql")].concat();
    let script = format!(
        "{old} INSERT INTO heads VALUES ('main', NULL, 'old-session'); \
         INSERT INTO moves VALUES (1, 1, 'main', 'created', NULL, NULL, NULL, 'old-session'); \
         PRAGMA user_version = 2;"
    );
    before.execute_batch(&script).unwrap();
    before.close().unwrap();

    let lineage = journal::peek(&paths).unwrap().unwrap().lineage(10).unwrap();
    assert_eq!((lineage.lines.len(), lineage.open.len(), lineage.older), (1, 1, 0));
}
