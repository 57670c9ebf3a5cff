//! The stored lineage: topics of forks, and how many moves are read.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]
#![expect(clippy::disallowed_methods, reason = "the test creates an old database without the trait Disk")]

use std::sync::Arc;

use domain::conversation::{
    Branch, Conversation, EntryContent, Lineage, MoveReason, SessionId, UserInput, draw,
};
use domain::fork::{Fork, ForkRequest};
use domain::record::{ForkChange, MessageId, Record};
use engine::ports::Journal as _;
use expect_test::expect;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::disk::RealDisk;
use journal::{Journal, OpenParams, OpenedJournal, Paths};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A journal in which events happen one minute apart.
struct TestJournal {
    _dir: TempDir,
    runtime: Runtime,
    journal: Journal,
    conversation: Conversation,
    minute: i64,
}

impl TestJournal {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let paths = Paths::new(dir.path());
        let disk = Arc::new(RealDisk);
        let now = at(0);
        let place = OpenParams { paths, disk, zone: TimeZone::UTC, now, pid: 1 };
        let OpenedJournal { journal, state: memory, .. } = journal::open(place).unwrap();
        let mut life = Self { _dir: dir, runtime, journal, conversation: memory.conversation, minute: 0 };
        let now = life.now();
        let created = life.conversation.create(Branch::Main, session("main"), now);
        life.write(vec![Record::BranchMoved(created)]);
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
        let heard = UserInput { preface: String::new(), text: "x".to_owned(), images: Vec::new() };
        let now = self.now();
        let entry = self.conversation.append(branch, EntryContent::User(heard), now).unwrap();
        self.write(vec![Record::EntryAppended(branch.clone(), entry)]);
    }

    fn fork(&mut self, name: &str, topic: Option<&str>) -> Branch {
        let branch = Branch::fork(name).unwrap();
        let now = self.now();
        let forked = self.conversation.fork(&Branch::Main, branch.clone(), session(name), now).unwrap();
        let topic = topic.map(str::to_owned);
        let entering = ForkRequest { topic, idle_minutes: None, start_message: MessageId(0) };
        let fork = Fork::new(branch.clone(), None, entering, now);
        self.write(vec![Record::BranchMoved(forked), Record::Fork(ForkChange::Open(fork))]);
        branch
    }

    fn end(&mut self, branch: &Branch, why: MoveReason) {
        let now = self.now();
        let ended = self.conversation.end(branch, why, now).unwrap();
        self.write(vec![Record::BranchMoved(ended), Record::Fork(ForkChange::Ended(branch.clone()))]);
    }

    fn save(&mut self, branch: &Branch) {
        let now = self.now();
        let moves = self.conversation.promote(branch, now).unwrap().map(Record::BranchMoved);
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
    SessionId::parse(&format!("{name}-session")).unwrap()
}

#[test]
fn the_topic_of_a_fork_is_known_after_it_ended() {
    let mut life = TestJournal::new();
    life.say(&Branch::Main);
    let trip = life.fork("trip", Some("lisbon in march"));
    life.say(&trip);
    life.save(&trip);
    let quiet = life.fork("quiet", None);
    life.say(&quiet);
    life.end(&quiet, MoveReason::Lapsed);
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
fn the_lineage_contains_the_first_move_of_each_fork() {
    let mut life = TestJournal::new();
    life.say(&Branch::Main);
    let long = life.fork("long", Some("the long one"));
    let open = life.fork("open", None);
    life.say(&open);
    for name in ["a", "b", "c"] {
        let fork = life.fork(name, None);
        life.end(&fork, MoveReason::Dropped);
    }
    life.say(&long);
    life.say(&long);
    life.end(&long, MoveReason::Reported);

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
    assert_eq!(life.lineage(1000).omitted, 0);
}

/// The program is updated, and the journal is read before the new version has run.
#[test]
fn a_journal_from_before_forks_had_topics_is_readable() {
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

    let lineage = journal::open_read_only(&paths).unwrap().unwrap().lineage(10).unwrap();
    assert_eq!((lineage.moves.len(), lineage.open.len(), lineage.omitted), (1, 1, 0));
}
