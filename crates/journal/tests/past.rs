//! Queries on past conversations, prompts, answers and texts, filtered by time and place.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]

use std::sync::Arc;

use domain::conversation::{
    Block, Branch, Completeness, Entry, EntryContent, EntryId, Head, Move, MoveReason, SessionId, Text,
    UserInput,
};
use domain::label::Label;
use domain::record::{
    Address, Message, MessageChange, MessageId, Record, SurfaceName, TurnChange, TurnClosed,
    TurnOpened as Begun,
};
use domain::tool::{Outcome, ToolResult};
use domain::turn::{TurnEnding, TurnId};
use engine::ports::{Journal as _, SearchFilter, SearchHit, SearchOrder, SearchQuery};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use journal::db::Database;
use journal::disk::RealDisk;
use journal::{OpenParams, Paths, open, open_read_only};

fn day(day: i64) -> Timestamp {
    Timestamp::constant(1_794_700_000, 0) + SignedDuration::from_hours(24 * day)
}

/// Builds the records of conversations turn by turn.
#[derive(Default)]
struct RecordBuilder {
    records: Vec<Record>,
    entries: u64,
    turns: u64,
}

impl RecordBuilder {
    fn say(&mut self, branch: &Branch, parent: Option<u64>, at: Timestamp, said: EntryContent) -> u64 {
        self.entries += 1;
        let entry = Entry {
            id: EntryId(self.entries),
            parent: parent.map(EntryId),
            at,
            content: said,
            own_label: Label::PLAIN,
            label: Label::PLAIN,
        };
        self.records.push(Record::EntryAppended(branch.clone(), entry));
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
            address: to,
            text: text.clone(),
            images: Vec::new(),
            external_id: None,
            label: Label::PLAIN,
        };
        self.records.push(Record::Message(MessageChange::Received(message)));
        let begun = Begun { turn, branch: branch.clone(), message: id, at };
        self.records.push(Record::Turn(TurnChange::Opened(begun)));
        let heard = EntryContent::User(UserInput { preface: String::new(), text, images: Vec::new() });
        let asked = self.say(&branch, parent, at, heard);
        self.records.push(Record::Message(MessageChange::Taken(id, EntryId(asked))));
        let result = ToolResult {
            call: "1".to_owned(),
            text: "the tool spoke".to_owned(),
            outcome: Outcome::Done,
            label: Label::PLAIN,
        };
        let ran = self.say(&branch, Some(asked), at, EntryContent::Tools(vec![result]));
        let answer = EntryContent::Assistant(vec![Block::Text(words[1].to_owned())], Completeness::Complete);
        let answered = self.say(&branch, Some(ran), at, answer);
        let closed = TurnClosed { turn, ending: TurnEnding::Finished, usage: Default::default(), at };
        self.records.push(Record::Turn(TurnChange::Closed(closed)));
        answered
    }

    fn add_move(&mut self, branch: &str, why: MoveReason, from: Option<Head>, to: Option<Head>) {
        let branch = branch.parse().unwrap();
        self.records.push(Record::BranchMoved(Move { branch, at: day(0), reason: why, from, to }));
    }
}

fn head(session: &str, entry: Option<u64>) -> Option<Head> {
    Some(Head { entry: entry.map(EntryId), session: SessionId::parse(session).unwrap(), label: Label::PLAIN })
}

/// Main has messages on the page and in Discord; a run forked off in between and ended.
async fn sample_database(dir: &tempfile::TempDir) -> Database {
    let mut life = RecordBuilder::default();
    life.add_move("main", MoveReason::Created, None, head("aaaa-main", None));
    let one =
        life.turn(("main", SurfaceName::Page), None, day(0), ["the dentist moved", "dentist: friday then"]);
    life.add_move("fork/run1", MoveReason::Forked, None, head("bbbb-run", Some(one)));
    let run = life.turn(
        ("fork/run1", SurfaceName::Internal),
        Some(one),
        day(1),
        ["[routine-bg:mail] look", "a dentist wrote"],
    );
    life.add_move("fork/run1", MoveReason::Ended, head("bbbb-run", Some(run)), None);
    life.turn(("main", SurfaceName::Discord), Some(one), day(2), ["and the train?", "at nine"]);
    let paths = Paths::new(dir.path());
    let place = OpenParams {
        paths: paths.clone(),
        disk: Arc::new(RealDisk),
        zone: TimeZone::UTC,
        now: day(0),
        pid: 1,
    };
    open(place).unwrap().journal.write(life.records).await.unwrap();
    open_read_only(&paths).unwrap().unwrap()
}

fn ids(found: &[SearchHit]) -> Vec<u64> {
    found.iter().map(|found| found.entry.id.0).collect()
}

fn tagged(tag: &str) -> SearchFilter {
    SearchFilter { places: vec![tag.to_owned()], ..SearchFilter::default() }
}

#[tokio::test]
async fn words_are_found_by_time_and_place() {
    let dir = tempfile::tempdir().unwrap();
    let database = sample_database(&dir).await;
    let find = |words: &str, within: SearchFilter| {
        let looked_for =
            SearchQuery { words: words.to_owned(), filter: within, limit: 10, ..SearchQuery::default() };
        ids(&database.search(&looked_for).unwrap())
    };
    assert_eq!(find("dentist", SearchFilter::default()), [6, 3, 1]);
    assert_eq!(find("dentist", tagged("page")), [3, 1]);
    assert_eq!(find("dentist", tagged("run1")), [6]);
    assert_eq!(find("dentist", tagged("main")), [3, 1]);
    assert_eq!(find("dentist", tagged("discord")), [0; 0]);
    assert_eq!(find("tool", tagged("discord")), [8], "what a tool says is said where its turn is");
    let since = SearchFilter { since: Some(day(1)), ..SearchFilter::default() };
    assert_eq!(find("dentist", since), [6]);
    let until = SearchFilter { until: Some(day(1)), ..SearchFilter::default() };
    assert_eq!(find("dentist", until), [3, 1]);
    let all = SearchQuery { words: "train".to_owned(), limit: 10, ..SearchQuery::default() };
    let found = database.search(&all).unwrap().remove(0).origin.unwrap();
    assert_eq!((found.turn, found.branch, found.surface), (TurnId(3), Branch::Main, SurfaceName::Discord));
}

#[tokio::test]
async fn the_best_hits_come_first_if_requested() {
    let dir = tempfile::tempdir().unwrap();
    let mut life = RecordBuilder::default();
    life.add_move("main", MoveReason::Created, None, head("aaaa-main", None));
    let about = "invoice? the invoice for the invoices";
    let long = format!("an invoice and {}", "more ".repeat(80));
    let one = life.turn(("main", SurfaceName::Page), None, day(0), ["hello", about]);
    life.turn(("main", SurfaceName::Page), Some(one), day(1), ["hello again", &long]);
    let paths = Paths::new(dir.path());
    let place = OpenParams {
        paths: paths.clone(),
        disk: Arc::new(RealDisk),
        zone: TimeZone::UTC,
        now: day(0),
        pid: 1,
    };
    open(place).unwrap().journal.write(life.records).await.unwrap();
    let database = open_read_only(&paths).unwrap().unwrap();
    let find = |order| {
        let looked_for =
            SearchQuery { words: "invoice".to_owned(), order, limit: 10, ..SearchQuery::default() };
        ids(&database.search(&looked_for).unwrap())
    };
    assert_eq!(find(SearchOrder::Newest), [6, 3]);
    assert_eq!(find(SearchOrder::Relevance), [3, 6]);
}

#[tokio::test]
async fn conversations_are_listed_and_read_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let database = sample_database(&dir).await;
    let talks = database.conversations(&SearchFilter::default()).unwrap();
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
        let found = database.for_each_entry(name, |entry| {
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
async fn prompts_are_listed_and_answers_are_found_by_turn() {
    let dir = tempfile::tempdir().unwrap();
    let database = sample_database(&dir).await;
    let prompts = |within: &SearchFilter, skipped, most| {
        let prompts = database.prompts(within, skipped, most).unwrap();
        prompts.iter().map(|one| one.spoken.turn.0).collect::<Vec<_>>()
    };
    assert_eq!(prompts(&SearchFilter::default(), 0, 10), [3, 2, 1]);
    assert_eq!(prompts(&SearchFilter::default(), 1, 1), [2]);
    assert_eq!(prompts(&tagged("house"), 0, 10), [2]);
    let since = SearchFilter { since: Some(day(2)), ..SearchFilter::default() };
    assert_eq!(prompts(&since, 0, 10), [3]);
    let (prompted, said) = database.prompt_and_answer(TurnId(1)).unwrap().unwrap();
    assert_eq!(prompted.text, "the dentist moved");
    let said: Vec<String> = said.iter().map(|entry| entry.content.text()).collect();
    assert_eq!(
        said,
        ["the tool spoke", "dentist: friday then"],
        "and nothing of the run that went on from there"
    );
    assert_eq!(database.prompt_and_answer(TurnId(9)).unwrap(), None);
}

/// A journal from before the prefix index has it after the next start.
#[tokio::test]
async fn an_older_journal_is_searched_like_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    drop(sample_database(&dir).await);
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
    let database = open_read_only(&paths).unwrap().unwrap();
    let find = |words: &str| {
        ids(&database
            .search(&SearchQuery { words: words.to_owned(), limit: 10, ..SearchQuery::default() })
            .unwrap())
    };
    assert_eq!(find("den"), [6, 3, 1]);
    assert_eq!(find("the tool spoke"), [8, 5, 2]);
    assert_eq!(find("nine"), [9]);
}
