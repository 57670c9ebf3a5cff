//! Queries on past conversations, prompts, answers and texts, filtered by time and place.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]

use std::sync::Arc;

use domain::conversation::{
    Block, Branch, Entry, EntryId, Head, Heard, Move, Reach, Said, SessionId, Text, Why,
};
use domain::label::Label;
use domain::record::{
    Address, Closed, Message, MessageChange, MessageId, Opened as Begun, Record, SurfaceName, TurnChange,
};
use domain::tool::{Outcome, ToolResult};
use domain::turn::{Ending, TurnId};
use engine::ports::{Found, Journal as _, LookedFor, Order, Within};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use journal::db::Database;
use journal::disk::RealDisk;
use journal::{Paths, Place, open, peek};

fn day(day: i64) -> Timestamp {
    Timestamp::constant(1_794_700_000, 0) + SignedDuration::from_hours(24 * day)
}

/// Builds the records of conversations turn by turn.
#[derive(Default)]
struct Life {
    records: Vec<Record>,
    entries: u64,
    turns: u64,
}

impl Life {
    fn say(&mut self, branch: &Branch, parent: Option<u64>, at: Timestamp, said: Said) -> u64 {
        self.entries += 1;
        let entry = Entry {
            id: EntryId(self.entries),
            parent: parent.map(EntryId),
            at,
            said,
            own: Label::PLAIN,
            label: Label::PLAIN,
        };
        self.records.push(Record::Said(branch.clone(), entry));
        self.entries
    }

    /// A message after `parent` and its answer. Returns the last entry.
    fn turn(
        &mut self,
        place: (&str, SurfaceName),
        parent: Option<u64>,
        at: Timestamp,
        words: [&str; 2],
    ) -> u64 {
        self.turns += 1;
        let (branch, surface): (Branch, _) = (place.0.parse().unwrap(), place.1);
        let id = MessageId(self.turns);
        let turn = TurnId(self.turns);
        let text = words[0].to_owned();
        let to = Address::Branch(branch.clone());
        let message = Message {
            id,
            at,
            surface,
            to,
            text: text.clone(),
            images: Vec::new(),
            mark: None,
            label: Label::PLAIN,
        };
        self.records.push(Record::Message(MessageChange::Received(message)));
        let begun = Begun { turn, branch: branch.clone(), answers: id, at };
        self.records.push(Record::Turn(TurnChange::Opened(begun)));
        let heard = Said::Human(Heard { preface: String::new(), text, images: Vec::new() });
        let asked = self.say(&branch, parent, at, heard);
        self.records.push(Record::Message(MessageChange::Taken(id, EntryId(asked))));
        let result = ToolResult {
            call: "1".to_owned(),
            text: "the tool spoke".to_owned(),
            outcome: Outcome::Done,
            label: Label::PLAIN,
        };
        let ran = self.say(&branch, Some(asked), at, Said::Tools(vec![result]));
        let answer = Said::Assistant(vec![Block::Text(words[1].to_owned())], Reach::Whole);
        let answered = self.say(&branch, Some(ran), at, answer);
        let closed = Closed { turn, ending: Ending::Finished, usage: Default::default(), at };
        self.records.push(Record::Turn(TurnChange::Closed(closed)));
        answered
    }

    fn moved(&mut self, branch: &str, why: Why, from: Option<Head>, to: Option<Head>) {
        let branch = branch.parse().unwrap();
        self.records.push(Record::Moved(Move { branch, at: day(0), why, from, to }));
    }
}

fn head(session: &str, entry: Option<u64>) -> Option<Head> {
    Some(Head { entry: entry.map(EntryId), session: SessionId::read(session).unwrap(), label: Label::PLAIN })
}

/// Main has messages on the page and in Discord; a run forked off in between and ended.
async fn lived(dir: &tempfile::TempDir) -> Database {
    let mut life = Life::default();
    life.moved("main", Why::Created, None, head("aaaa-main", None));
    let one =
        life.turn(("main", SurfaceName::Page), None, day(0), ["the dentist moved", "dentist: friday then"]);
    life.moved("fork/run1", Why::Forked, None, head("bbbb-run", Some(one)));
    let run = life.turn(
        ("fork/run1", SurfaceName::House),
        Some(one),
        day(1),
        ["[routine-bg:mail] look", "a dentist wrote"],
    );
    life.moved("fork/run1", Why::Ended, head("bbbb-run", Some(run)), None);
    life.turn(("main", SurfaceName::Discord), Some(one), day(2), ["and the train?", "at nine"]);
    let paths = Paths::new(dir.path());
    let place =
        Place { paths: paths.clone(), disk: Arc::new(RealDisk), zone: TimeZone::UTC, now: day(0), pid: 1 };
    open(place).unwrap().journal.write(life.records).await.unwrap();
    peek(&paths).unwrap().unwrap()
}

fn ids(found: &[Found]) -> Vec<u64> {
    found.iter().map(|found| found.entry.id.0).collect()
}

fn tagged(tag: &str) -> Within {
    Within { tags: vec![tag.to_owned()], ..Within::default() }
}

#[tokio::test]
async fn words_are_found_by_when_and_where_they_were_said() {
    let dir = tempfile::tempdir().unwrap();
    let database = lived(&dir).await;
    let find = |words: &str, within: Within| {
        let looked_for = LookedFor { words: words.to_owned(), within, limit: 10, ..LookedFor::default() };
        ids(&database.search(&looked_for).unwrap())
    };
    assert_eq!(find("dentist", Within::default()), [6, 3, 1]);
    assert_eq!(find("dentist", tagged("page")), [3, 1]);
    assert_eq!(find("dentist", tagged("run1")), [6]);
    assert_eq!(find("dentist", tagged("main")), [3, 1]);
    assert_eq!(find("dentist", tagged("discord")), [0; 0]);
    assert_eq!(find("tool", tagged("discord")), [8], "what a tool says is said where its turn is");
    let since = Within { since: Some(day(1)), ..Within::default() };
    assert_eq!(find("dentist", since), [6]);
    let until = Within { until: Some(day(1)), ..Within::default() };
    assert_eq!(find("dentist", until), [3, 1]);
    let all = LookedFor { words: "train".to_owned(), limit: 10, ..LookedFor::default() };
    let found = database.search(&all).unwrap().remove(0).spoken.unwrap();
    assert_eq!((found.turn, found.branch, found.surface), (TurnId(3), Branch::Main, SurfaceName::Discord));
}

#[tokio::test]
async fn the_best_places_come_first_if_that_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let mut life = Life::default();
    life.moved("main", Why::Created, None, head("aaaa-main", None));
    let about = "invoice? the invoice for the invoices";
    let long = format!("an invoice and {}", "more ".repeat(80));
    let one = life.turn(("main", SurfaceName::Page), None, day(0), ["hello", about]);
    life.turn(("main", SurfaceName::Page), Some(one), day(1), ["hello again", &long]);
    let paths = Paths::new(dir.path());
    let place =
        Place { paths: paths.clone(), disk: Arc::new(RealDisk), zone: TimeZone::UTC, now: day(0), pid: 1 };
    open(place).unwrap().journal.write(life.records).await.unwrap();
    let database = peek(&paths).unwrap().unwrap();
    let find = |order| {
        let looked_for = LookedFor { words: "invoice".to_owned(), order, limit: 10, ..LookedFor::default() };
        ids(&database.search(&looked_for).unwrap())
    };
    assert_eq!(find(Order::Newest), [6, 3]);
    assert_eq!(find(Order::Best), [3, 6]);
}

#[tokio::test]
async fn conversations_are_listed_and_read_by_their_names() {
    let dir = tempfile::tempdir().unwrap();
    let database = lived(&dir).await;
    let talks = database.talks(&Within::default()).unwrap();
    let told: Vec<_> = talks
        .iter()
        .map(|talk| {
            (
                talk.branch.to_string(),
                talk.session.as_ref().unwrap().as_str(),
                talk.prompts,
                &*talk.first.text,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("main".to_owned(), "aaaa-main", 2, "the dentist moved"),
            ("fork/run1".to_owned(), "bbbb-run", 1, "[routine-bg:mail] look")
        ]
    );
    let read = |name: &str| {
        let mut said = Vec::new();
        let found = database.each_said(name, |entry| {
            said.push(entry.id.0);
            true
        });
        found.unwrap().then_some(said)
    };
    assert_eq!(read("main"), Some(vec![9, 8, 7, 3, 2, 1]));
    for name in ["fork/run1", "run1", "bbbb", "bbbb-run"] {
        assert_eq!(read(name), Some(vec![6, 5, 4]), "{name}: a fork tells of itself alone");
    }
    for nobody in ["", "nobody", "fork/nobody", "bbb", "%", "____"] {
        assert_eq!(read(nobody), None, "{nobody}");
    }
}

#[tokio::test]
async fn prompts_have_numbers_and_numbers_have_answers() {
    let dir = tempfile::tempdir().unwrap();
    let database = lived(&dir).await;
    let prompts = |within: &Within, skipped, most| {
        let prompts = database.prompts(within, skipped, most).unwrap();
        prompts.iter().map(|one| one.spoken.turn.0).collect::<Vec<_>>()
    };
    assert_eq!(prompts(&Within::default(), 0, 10), [3, 2, 1]);
    assert_eq!(prompts(&Within::default(), 1, 1), [2]);
    assert_eq!(prompts(&tagged("house"), 0, 10), [2]);
    let since = Within { since: Some(day(2)), ..Within::default() };
    assert_eq!(prompts(&since, 0, 10), [3]);
    let (prompted, said) = database.answered(TurnId(1)).unwrap().unwrap();
    assert_eq!(prompted.text, "the dentist moved");
    let said: Vec<String> = said.iter().map(|entry| entry.said.text()).collect();
    assert_eq!(
        said,
        ["the tool spoke", "dentist: friday then"],
        "and nothing of the run that went on from there"
    );
    assert_eq!(database.answered(TurnId(9)).unwrap(), None);
}

/// A journal from before the prefix index has it after the next start.
#[tokio::test]
async fn an_older_journal_is_searched_like_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    drop(lived(&dir).await);
    let paths = Paths::new(dir.path());
    let older = rusqlite::Connection::open(paths.database()).unwrap();
    let sql = "ALTER TABLE messages DROP COLUMN label; \
               ALTER TABLE approvals DROP COLUMN label; ALTER TABLE approvals DROP COLUMN step; \
               ALTER TABLE runs DROP COLUMN effort; ALTER TABLE forks DROP COLUMN effort; \
               ALTER TABLE spending DROP COLUMN cache_write_1h; ALTER TABLE turns DROP COLUMN cache_write_1h; \
               ALTER TABLE approvals DROP COLUMN stands; ALTER TABLE approvals DROP COLUMN stands_until; ALTER TABLE approvals DROP COLUMN withdrawn; \
               DROP TABLE item_origins; DROP TABLE plan_origins; DROP TABLE deliveries; DROP TABLE delivery_marks; DROP INDEX messages_by_entry; DROP TABLE words; CREATE VIRTUAL TABLE words USING fts5 (\
               text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'); \
               PRAGMA user_version = 7;";
    older.execute_batch(sql).unwrap();
    drop(older);
    drop(Database::open(&paths.database()).unwrap());
    let database = peek(&paths).unwrap().unwrap();
    let find = |words: &str| {
        ids(&database
            .search(&LookedFor { words: words.to_owned(), limit: 10, ..LookedFor::default() })
            .unwrap())
    };
    assert_eq!(find("den"), [6, 3, 1]);
    assert_eq!(find("the tool spoke"), [8, 5, 2]);
    assert_eq!(find("nine"), [9]);
}
