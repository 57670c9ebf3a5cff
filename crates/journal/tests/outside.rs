//! Changes of state files by other programs are adopted; files left out of date by our own crash
//! are not mistaken for such changes.
#![expect(clippy::disallowed_methods, reason = "the test is another program that writes into the directory")]
#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]

use std::path::PathBuf;
use std::sync::Arc;

use domain::assistant::StateEdit;
use domain::conversation::{
    Block, Branch, Completeness, Conversation, EntryContent, EntryId, Head, Json, SessionId, UserInput,
};
use domain::cost::CostSource;
use domain::label::{Label, Realm};
use domain::pending_update::{PendingUpdate, UpdateId};
use domain::record::{
    Address, Message, MessageChange, MessageId, PlanChange, Record, SentChange, SessionChange, SessionHead,
    SurfaceName, UpdateChange, UpdatesRead,
};
use domain::schedule::ItemId;
use domain::sent_messages::{MessageOrigin, RunEnd, SentId, StoredPromptId};
use domain::tool::{Outcome, ToolCall, ToolResult};
use engine::ports::Journal as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::{OpenParams, OpenedJournal, Paths};
use tempfile::TempDir;

const NOW: Timestamp = Timestamp::constant(1_794_700_000, 0);

fn session(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

struct TestDirectory {
    dir: TempDir,
    runtime: tokio::runtime::Runtime,
}

/// A tool name, its input, and optionally a result with its label.
type CallWithResult<'a> = (&'a str, &'a str, Option<(Label, &'a str)>);

impl TestDirectory {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        Self { dir: tempfile::tempdir().unwrap(), runtime }
    }

    fn open(&self) -> OpenedJournal {
        let disk = Arc::new(journal::disk::RealDisk);
        let paths = Paths::new(self.dir.path());
        journal::open(OpenParams { paths, disk, zone: TimeZone::UTC, now: NOW, pid: 1 }).unwrap()
    }

    fn write(&self, opened: &OpenedJournal, records: Vec<Record>) {
        self.runtime.block_on(opened.journal.write(records)).unwrap();
    }

    fn external_edits(&self, opened: &OpenedJournal, at_once: bool) -> Vec<StateEdit> {
        self.runtime.block_on(opened.journal.external_edits(at_once, NOW)).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("state").join(name)
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path(name)).ok()
    }

    fn replace_file(&self, name: &str, text: Option<&str>) {
        match text {
            Some(text) => std::fs::write(self.path(name), text).unwrap(),
            None => std::fs::remove_file(self.path(name)).unwrap(),
        }
    }

    /// Main has an entry in the session `old`; a compaction then starts the session `new`.
    fn write_conversation(&self, opened: &OpenedJournal) {
        let mut conversation = Conversation::new(Default::default(), EntryId(1));
        let heard = |text: &str| UserInput { text: text.to_owned(), ..UserInput::note(String::new()) };
        let mut records = vec![Record::BranchMoved(conversation.create(Branch::Main, session("old"), NOW))];
        let said = conversation.append(&Branch::Main, EntryContent::User(heard("hello")), NOW).unwrap();
        records.push(Record::EntryAppended(Branch::Main, said));
        records.push(Record::Session(SessionChange::Saved(session("old"), NOW)));
        let (entry, moved) =
            conversation.compact(&Branch::Main, "hello".to_owned(), session("new"), NOW).unwrap();
        records.push(Record::EntryAppended(Branch::Main, entry));
        records.push(Record::BranchMoved(moved));
        records.push(Record::Session(SessionChange::Saved(session("new"), NOW)));
        self.write(opened, records);
    }

    /// After `TestDirectory::write_conversation`, a model calls these tools on main, one after the other.
    fn write_calls(&self, opened: &OpenedJournal, calls: &[CallWithResult<'_>]) {
        let head = Head { entry: Some(EntryId(2)), session: session("new"), label: Label::PLAIN };
        let mut conversation = Conversation::new([(Branch::Main, head)].into(), EntryId(3));
        let id = || "c".to_owned();
        for (name, input, result) in calls {
            let call = ToolCall { id: id(), name: (*name).to_owned(), input: Json((*input).to_owned()) };
            let called = EntryContent::Assistant(vec![Block::Call(call)], Completeness::Complete);
            let result = result.map(|(label, text)| {
                let text = text.to_owned();
                let outcome = Outcome::Done;
                EntryContent::Tools(vec![ToolResult { call: id(), text, outcome, label }])
            });
            for said in [Some(called), result].into_iter().flatten() {
                let entry = conversation.append(&Branch::Main, said, NOW).unwrap();
                self.write(opened, vec![Record::EntryAppended(Branch::Main, entry)]);
            }
        }
    }
}

fn update_left(id: u64, text: &str) -> Record {
    let from = "fork/a".to_owned();
    let text = text.to_owned();
    Record::Update(UpdateChange::Left(PendingUpdate {
        id: UpdateId(id),
        at: NOW,
        source: from,
        text,
        label: Label::PLAIN,
    }))
}

fn update_read(id: u64) -> Record {
    let reading = UpdatesRead { quoted: vec![UpdateId(id)], counted: Vec::new(), entry: None };
    Record::Update(UpdateChange::Read(reading))
}

fn unread_texts(opened: &OpenedJournal) -> Vec<String> {
    opened.state.updates.waiting.iter().map(|report| report.text.clone()).collect()
}

const UPDATES: &str = "pending_updates.json";

#[test]
fn a_sessions_file_without_a_session_starts_a_new_one() {
    for text in [None, Some(""), Some(" \n"), Some("{\"main\": 1}")] {
        let house = TestDirectory::new();
        let opened = house.open();
        house.write_conversation(&opened);
        assert_eq!(house.external_edits(&opened, true), []);
        house.replace_file("sessions.json", text);
        assert_eq!(house.external_edits(&opened, false), [], "{text:?}: it may be half written");
        assert_eq!(house.external_edits(&opened, false), [StateEdit::MainSession(None)], "{text:?}");
        drop(opened);
        // Also while the daemon is down.
        let opened = house.open();
        assert_eq!(house.external_edits(&opened, true), [StateEdit::MainSession(None)], "{text:?}");
        assert!(house.read("sessions.json").is_none_or(|text| text != "new"), "{text:?}");
    }
}

#[test]
fn a_sessions_file_can_name_another_session() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.write_conversation(&opened);
    house.replace_file("sessions.json", Some("old\n"));
    let head = Head {
        entry: Some(EntryId(1)),
        session: session("old"),
        label: opened
            .state
            .conversation
            .head(&Branch::Main)
            .map_or(Label::private(domain::label::Realm::Chat), |head| head.label),
    };
    assert_eq!(house.external_edits(&opened, true), [StateEdit::MainSession(Some(head))]);
    house.replace_file("sessions.json", Some("strange"));
    assert_eq!(house.external_edits(&opened, true), [StateEdit::UnknownMainSession(session("strange"))]);
    assert_eq!(house.read("sessions.json"), None, "the next session is created");
}

/// Addresses written by the user and those shown by pages and mail are known again after a restart.
/// An address that a model may have composed is not.
#[test]
fn seen_addresses_are_known_after_a_restart() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.write_conversation(&opened);
    let said = |id, surface, text: &str, to| {
        let text = text.to_owned();
        let images = Vec::new();
        let mark = None;
        let message = Message {
            id: MessageId(id),
            at: NOW,
            surface,
            address: to,
            text,
            images,
            external_id: mark,
            label: Label::PLAIN,
        };
        Record::Message(MessageChange::Received(message))
    };
    let button = Address::Button(SentId(1), StoredPromptId("0a1b2c3d".to_owned()));
    house.write(
        &opened,
        vec![
            said(1, SurfaceName::Page, "read https://written.example/a, please", Address::UserBranch),
            said(2, SurfaceName::Internal, "look at https://ours.example/a", Address::UserBranch),
            said(3, SurfaceName::Discord, "https://button.example/a", button),
        ],
    );
    let asked = r#"{"url":"https://asked.example/q"}"#;
    let web = Label::outside(Realm::Web);
    let mail = Label::both(Realm::Mail);
    house.write_calls(
        &opened,
        &[
            ("WebFetch", asked, Some((web, "see https://page.example/b and https://asked.example/q"))),
            ("Bash", asked, Some((mail, "Ann: https://mail.example/c"))),
            ("Task", asked, Some((mail, "go to https://composed.example/d"))),
            ("Read", asked, Some((Label::private(Realm::Files), "https://file.example/e"))),
        ],
    );
    drop(opened);
    let messages = house.open().state.messages;
    assert_eq!(*messages.links, ["https://written.example/a"]);
    assert_eq!(*messages.seen, ["https://page.example/b", "https://mail.example/c"]);
}

/// An address that a model composed before a restart is not trusted after it, even if a later
/// result, a server or a search provider's model repeats it.
#[test]
fn addresses_composed_by_a_model_do_not_count_as_seen_after_a_restart() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.write_conversation(&opened);
    let web = Label::outside(Realm::Web);
    let mail = Label::both(Realm::Mail);
    let server = Label::both(Realm::Server);
    let found =
        "- Trains\n  https://trains.example/\n\nAnswer of OpenAI from these pages: https://answer.example/a";
    house.write_calls(
        &opened,
        &[
            ("inbox_add", r#"{"text":"https://noted.example/?d=secret"}"#, Some((Label::PLAIN, "kept"))),
            ("Write", r#"{"content":"see https://crashed.example/?d=secret"}"#, None),
            ("WebFetch", r#"{"url":"https://asked.example/q"}"#, Some((web, "https://asked.example/q"))),
            ("mcp", r#"{"tool":"mcp__a__list"}"#, Some((server, "https://stored.example/?d=secret"))),
            ("WebSearch", r#"{"query":"trains"}"#, Some((web, found))),
            (
                "Bash",
                r#"{"command":"ollim-bot mail unread"}"#,
                Some((
                    mail,
                    "https://noted.example/?d=secret https://crashed.example/?d=secret https://mail.example/c \
                     https://asked.example/q",
                )),
            ),
        ],
    );
    drop(opened);
    let seen = house.open().state.messages.seen;
    assert_eq!(*seen, ["https://trains.example/", "https://mail.example/c", "https://asked.example/q"]);
}

#[test]
fn our_own_writes_are_not_external_edits() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.write_conversation(&opened);
    house.write(&opened, vec![update_left(1, "one"), update_left(2, "two")]);
    house.write(&opened, vec![update_read(1)]);
    for at_once in [true, false, false, true] {
        assert_eq!(house.external_edits(&opened, at_once), []);
    }
    assert_eq!(house.read(UPDATES).unwrap().matches("message").count(), 1);
}

#[test]
fn updates_of_other_programs_are_adopted_while_the_daemon_runs() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.write(&opened, vec![update_left(1, "one"), update_left(2, "two")]);
    let ours = house.read(UPDATES).unwrap();
    assert!(!ours.contains("\"id\""), "{ours}");
    let theirs = r#"{"ts": "2026-01-02T03:04:05+01:00", "message": "theirs"}"#;
    house.replace_file(UPDATES, Some(&ours.replace(']', &format!(", {theirs}]"))));
    let added =
        StateEdit::UpdateAdded { at: "2026-01-02T02:04:05Z".parse().unwrap(), text: "theirs".to_owned() };
    assert_eq!(house.external_edits(&opened, false), []);
    assert_eq!(house.external_edits(&opened, false), std::slice::from_ref(&added));
    // Until the assistant has adopted the change, the file is not overwritten.
    house.write(&opened, vec![update_left(3, "three")]);
    assert!(house.read(UPDATES).unwrap().contains("theirs"));
    assert_eq!(house.external_edits(&opened, true), [added]);
    let report = PendingUpdate {
        id: UpdateId(4),
        at: "2026-01-02T02:04:05Z".parse().unwrap(),
        source: "elsewhere".to_owned(),
        text: "theirs".to_owned(),
        label: Label::PLAIN,
    };
    house.write(&opened, vec![Record::Update(UpdateChange::Left(report))]);
    assert_eq!(house.external_edits(&opened, true), []);
    let both = house.read(UPDATES).unwrap();
    assert!(both.contains("three") && both.contains("theirs"), "{both}");

    house.replace_file(UPDATES, Some("[]"));
    let gone = [1, 2, 3, 4].map(|id| StateEdit::UpdateRemoved(UpdateId(id)));
    assert_eq!(house.external_edits(&opened, true), gone);
    house.write(&opened, [1, 2, 3, 4].map(update_read).to_vec());
    assert_eq!(house.external_edits(&opened, true), []);
    house.write(&opened, vec![update_left(5, "five")]);
    house.replace_file(UPDATES, None);
    assert_eq!(house.external_edits(&opened, true), [StateEdit::UpdateRemoved(UpdateId(5))]);
}

/// Splits the notice about the damaged file `name` from the other edits.
fn split_damage_notice(edits: Vec<StateEdit>, name: &str) -> Vec<StateEdit> {
    let (told, others): (Vec<_>, Vec<_>) =
        edits.into_iter().partition(|edit| matches!(edit, StateEdit::Damaged(_)));
    let [StateEdit::Damaged(words)] = &told[..] else { panic!("one notice: {told:?}") };
    assert!(words.contains(name) && words.contains("was damaged"), "{words}");
    others
}

#[test]
fn readable_updates_in_a_damaged_file_are_adopted_while_the_daemon_runs() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.write(&opened, vec![update_left(1, "one"), update_left(2, "two")]);
    let ours: serde_json::Value = serde_json::from_str(&house.read(UPDATES).unwrap()).unwrap();
    // The record of the update "two" is one of the invalid ones.
    let theirs = r#"{"ts": "2026-01-02T03:04:05+01:00", "message": "theirs"}"#;
    house.replace_file(UPDATES, Some(&format!(r#"[{}, {{"ts": 7}}, {theirs}]"#, ours[0])));
    let added =
        StateEdit::UpdateAdded { at: "2026-01-02T02:04:05Z".parse().unwrap(), text: "theirs".to_owned() };
    assert_eq!(house.external_edits(&opened, false), []);
    assert_eq!(
        split_damage_notice(house.external_edits(&opened, false), UPDATES),
        std::slice::from_ref(&added)
    );
    // Until the assistant has adopted the change, the file is not overwritten, and the damage is
    // reported once.
    house.write(&opened, vec![update_left(3, "three")]);
    assert!(house.read(UPDATES).unwrap().contains("theirs"));
    assert_eq!(house.external_edits(&opened, false), [added]);
    let report = PendingUpdate {
        id: UpdateId(4),
        at: "2026-01-02T02:04:05Z".parse().unwrap(),
        source: "elsewhere".to_owned(),
        text: "theirs".to_owned(),
        label: Label::PLAIN,
    };
    house.write(&opened, vec![Record::Update(UpdateChange::Left(report))]);
    assert_eq!(house.external_edits(&opened, false), []);
    let all = house.read(UPDATES).unwrap();
    assert!(["one", "two", "three", "theirs"].iter().all(|text| all.contains(text)), "{all}");
    assert_eq!(house.external_edits(&opened, false), []);
    // A completely unreadable file removes nothing and is reported too.
    house.replace_file(UPDATES, Some("[{"));
    assert_eq!(split_damage_notice(house.external_edits(&opened, true), UPDATES), []);
    assert_eq!(house.read(UPDATES).as_deref(), Some(all.as_str()));
    assert_eq!(house.external_edits(&opened, true), []);
}

/// Updates that main has already read are removed from a damaged file when it is repaired.
#[test]
fn read_updates_are_removed_from_a_damaged_file() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.write(&opened, vec![update_left(1, "one")]);
    let ours: serde_json::Value = serde_json::from_str(&house.read(UPDATES).unwrap()).unwrap();
    house.write(&opened, vec![update_read(1)]);
    house.replace_file(UPDATES, Some(&format!("[{}, 7]", ours[0])));
    assert_eq!(split_damage_notice(house.external_edits(&opened, true), UPDATES), []);
    assert_eq!(house.read(UPDATES), None);
}

#[test]
fn updates_removed_while_the_daemon_is_down_stay_removed() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.write(&opened, vec![update_left(1, "one")]);
    let one = house.read(UPDATES).unwrap();
    house.write(&opened, vec![update_left(2, "two")]);
    drop(opened);
    house.replace_file(UPDATES, Some(&format!("{one}\n")));
    let opened = house.open();
    assert_eq!(unread_texts(&opened), ["one"]);
    drop(opened);
    house.replace_file(UPDATES, None);
    assert_eq!(unread_texts(&house.open()), [""; 0]);
}

const UPDATES_HASH_KEY: &str = "state:pending_updates";
const MESSAGES_HASH_KEY: &str = "state:fork_messages";

/// The hash that the database stores after writing a file. A process that dies before writing the
/// file does not store it.
fn stored_hash(house: &TestDirectory, name: &str) -> String {
    let log = rusqlite::Connection::open(house.path("journal.db")).unwrap();
    log.query_row("SELECT value FROM keepsakes WHERE name = ?", [name], |row| row.get(0)).unwrap()
}

/// Simulates a crash between the write of the database and that of the file.
fn simulate_crash_before_file_write(house: &TestDirectory, name: &str, note: &str, file: &str, text: &str) {
    let log = rusqlite::Connection::open(house.path("journal.db")).unwrap();
    log.execute("UPDATE keepsakes SET value = ? WHERE name = ?", [note, name]).unwrap();
    house.replace_file(file, Some(text));
}

#[test]
fn a_file_left_out_of_date_by_a_crash_is_not_an_external_edit() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.write(&opened, vec![update_left(1, "one")]);
    let before = house.read(UPDATES).unwrap();
    let noted = stored_hash(&house, UPDATES_HASH_KEY);
    house.write(&opened, vec![update_left(2, "two")]);
    drop(opened);
    simulate_crash_before_file_write(&house, UPDATES_HASH_KEY, &noted, UPDATES, &before);
    let opened = house.open();
    assert_eq!(unread_texts(&opened), ["one", "two"]);
    let before = house.read(UPDATES).unwrap();
    let noted = stored_hash(&house, UPDATES_HASH_KEY);
    house.write(&opened, vec![update_read(1), update_read(2)]);
    assert_eq!(house.read(UPDATES), None);
    drop(opened);
    simulate_crash_before_file_write(&house, UPDATES_HASH_KEY, &noted, UPDATES, &before);
    assert_eq!(unread_texts(&house.open()), [""; 0], "what was read is not read again");
    assert_eq!(house.read(UPDATES), None);
}

#[test]
fn a_session_file_of_a_routine_can_be_removed_or_replaced() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.write_conversation(&opened);
    let routine = ItemId::parse("mail").unwrap();
    let stand = |text: &str, entry| SessionHead {
        session: session(text),
        entry: EntryId(entry),
        label: Label::PLAIN,
    };
    let set = |stand| vec![Record::Plan(PlanChange::SessionHead(routine.clone(), stand))];
    house.write(&opened, set(Some(stand("own", 2))));
    assert_eq!(house.external_edits(&opened, true), []);
    house.replace_file("routine_sessions/mail", None);
    assert_eq!(house.external_edits(&opened, false), []);
    assert_eq!(house.external_edits(&opened, false), [StateEdit::RoutineSession(routine.clone(), None)]);
    house.replace_file("routine_sessions/mail", Some("strange"));
    let unknown = StateEdit::UnknownRoutineSession(routine.clone(), session("strange"));
    assert_eq!(house.external_edits(&opened, true), [unknown]);
    house.replace_file("routine_sessions/mail", Some("old"));
    let edits = house.external_edits(&opened, true);
    assert!(
        matches!(&edits[..], [StateEdit::RoutineSession(_, Some(stand))] if stand.session == session("old") && stand.entry == EntryId(1)),
        "{edits:?}"
    );
    house.write(&opened, set(None));
    assert_eq!(house.external_edits(&opened, true), []);
    assert_eq!(house.read("routine_sessions/mail"), None);
}

const MESSAGES: &str = "fork_messages.json";

/// A message `id` sent by a run of the routine `mail`.
fn sent(id: u64, at: Timestamp) -> MessageOrigin {
    let source = CostSource::Routine("mail".to_owned());
    let label = "chat;report".parse().unwrap();
    let end = RunEnd { source, root: None, entry: EntryId(900), label };
    MessageOrigin {
        id: SentId(id),
        session: session("run"),
        parent: Some(session("new")),
        at,
        end: Some(end),
    }
}

fn origins_record(origins: &[MessageOrigin]) -> Vec<Record> {
    vec![Record::from(SentChange::OriginsKept(origins.to_vec(), NOW))]
}

fn message_line(id: u64, run: &str, seconds: i64) -> String {
    format!(r#"{{"message_id":{id},"fork_session_id":"{run}","parent_session_id":"new","ts":{seconds}.0}}"#)
}

fn listed_message_ids(house: &TestDirectory) -> Vec<u64> {
    let text = house.read(MESSAGES).unwrap_or_else(|| "[]".to_owned());
    let records: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    records.iter().map(|record| record["message_id"].as_u64().unwrap()).collect()
}

fn known_session(opened: &OpenedJournal, id: u64) -> Option<SessionId> {
    use domain::sent_messages::OriginLookup;
    match opened.state.messages.sent.origin(SentId(id), NOW) {
        OriginLookup::Live(origin, _) => Some(origin.session.clone()),
        OriginLookup::Expired(_) | OriginLookup::Unknown => None,
    }
}

#[test]
fn records_of_sent_messages_are_adopted_while_the_daemon_runs() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.write_conversation(&opened);
    house.write(&opened, origins_record(&[sent(501, NOW), sent(502, NOW)]));
    assert_eq!(
        (house.external_edits(&opened, false), house.external_edits(&opened, true)),
        (vec![], vec![]),
        "our own writes"
    );

    // One record is changed, one removed, one added for a known session, one for an unknown one,
    // one is expired, and one is from the future.
    let now = NOW.as_second();
    let lines = [
        message_line(501, "old", now - 60),
        message_line(503, "old", now - 60),
        message_line(504, "strange", now - 60),
        message_line(505, "old", now - 7 * 86400),
        message_line(506, "old", now + 86400),
    ];
    house.replace_file(MESSAGES, Some(&format!("[{}]", lines.join(","))));
    assert_eq!(house.external_edits(&opened, false), [], "it may be half written");
    let edits = house.external_edits(&opened, false);
    let [StateEdit::RunMessages { changed: added, removed: gone }] = &edits[..] else { panic!("{edits:?}") };
    let of = |origin: &MessageOrigin| (origin.id.0, origin.end.as_ref().map(|end| end.entry));
    let old = Some(EntryId(1));
    assert_eq!(added.iter().map(of).collect::<Vec<_>>(), [(501, old), (503, old), (504, None), (506, old)]);
    assert_eq!(gone, &[SentId(502)]);
    // Until the assistant has adopted the change, the file is not overwritten.
    house.write(&opened, origins_record(&[sent(507, NOW)]));
    assert_eq!(listed_message_ids(&house), [501, 503, 504, 505, 506]);
    assert_eq!(house.external_edits(&opened, true), edits);
    house.write(&opened, origins_record(added));
    house.write(&opened, vec![Record::from(SentChange::Removed(gone.clone()))]);
    assert_eq!(house.external_edits(&opened, true), []);
    assert_eq!(listed_message_ids(&house), [501, 503, 504, 506, 507]);
    assert_eq!(house.external_edits(&opened, false), []);

    // A file without records removes all of them, an unreadable one none.
    house.replace_file(MESSAGES, Some("[{]"));
    assert_eq!(split_damage_notice(house.external_edits(&opened, true), MESSAGES), []);
    assert_eq!(listed_message_ids(&house), [501, 503, 504, 506, 507]);
    for text in [None, Some(""), Some("[]")] {
        house.replace_file(MESSAGES, text);
        let edits = house.external_edits(&opened, true);
        let [StateEdit::RunMessages { changed: added, removed: gone }] = &edits[..] else {
            panic!("{edits:?}")
        };
        assert_eq!((added.len(), gone.len()), (0, 5), "{text:?}");
    }
}

#[test]
fn readable_records_in_a_damaged_file_are_adopted_while_the_daemon_runs() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.write_conversation(&opened);
    house.write(&opened, origins_record(&[sent(501, NOW), sent(502, NOW)]));
    let now = NOW.as_second();
    // The record of the message 502 is the invalid one.
    let lines = [
        message_line(501, "run", now),
        r#"{"message_id": 502}"#.to_owned(),
        message_line(503, "old", now - 60),
    ];
    house.replace_file(MESSAGES, Some(&format!("[{}]", lines.join(","))));
    assert_eq!(house.external_edits(&opened, false), [], "it may be half written");
    let edits = split_damage_notice(house.external_edits(&opened, false), MESSAGES);
    let [StateEdit::RunMessages { changed: added, removed: gone }] = &edits[..] else { panic!("{edits:?}") };
    assert_eq!(added.iter().map(|origin| origin.id.0).collect::<Vec<_>>(), [503]);
    assert_eq!(gone, &[], "a damaged file does not tell what was removed");
    // Until the assistant has adopted the change, the file is not overwritten, and the damage is
    // reported once.
    house.write(&opened, origins_record(&[sent(504, NOW)]));
    assert_eq!(listed_message_ids(&house), [501, 503]);
    assert_eq!(house.external_edits(&opened, true), edits);
    house.write(&opened, origins_record(added));
    assert_eq!(house.external_edits(&opened, true), []);
    assert_eq!(listed_message_ids(&house), [501, 502, 503, 504]);
    assert_eq!(house.external_edits(&opened, false), []);
}

/// The time of a foreign record does not affect the age of other records.
#[test]
fn a_record_from_the_future_removes_no_other_record() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.write_conversation(&opened);
    house.write(&opened, origins_record(&[sent(501, NOW)]));
    let now = NOW.as_second();
    let lines = [message_line(501, "run", now), message_line(506, "old", now + 30 * 86400)];
    house.replace_file(MESSAGES, Some(&format!("[{}]", lines.join(","))));
    let edits = house.external_edits(&opened, true);
    let [StateEdit::RunMessages { changed: added, .. }] = &edits[..] else { panic!("{edits:?}") };
    assert_eq!(added.iter().map(|origin| origin.id.0).collect::<Vec<_>>(), [506]);
    house.write(&opened, origins_record(added));
    assert_eq!(house.external_edits(&opened, true), []);
    assert_eq!(listed_message_ids(&house), [501, 506]);
    drop(opened);
    assert!(known_session(&house.open(), 501).is_some());
}

#[test]
fn records_changed_while_the_daemon_is_down_are_adopted() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.write_conversation(&opened);
    house.write(&opened, origins_record(&[sent(501, NOW), sent(502, NOW)]));
    drop(opened);
    house.replace_file(MESSAGES, Some(&format!("[{}]", message_line(501, "old", NOW.as_second()))));
    let opened = house.open();
    let known = [501, 502].map(|id| known_session(&opened, id));
    assert_eq!(known, [Some(session("old")), None]);
    assert_eq!(house.external_edits(&opened, true), []);
    drop(opened);
    house.replace_file(MESSAGES, None);
    assert_eq!(known_session(&house.open(), 501), None);
}

#[test]
fn records_missing_in_the_file_after_a_crash_are_not_removed() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.write(&opened, origins_record(&[sent(501, NOW)]));
    let before = house.read(MESSAGES).unwrap();
    let noted = stored_hash(&house, MESSAGES_HASH_KEY);
    house.write(&opened, origins_record(&[sent(502, NOW)]));
    drop(opened);
    simulate_crash_before_file_write(&house, MESSAGES_HASH_KEY, &noted, MESSAGES, &before);
    let opened = house.open();
    let both = [501, 502].map(|id| known_session(&opened, id).is_some());
    assert_eq!((both, listed_message_ids(&house)), ([true, true], vec![501, 502]));
}

/// A journal that is restored without its files, for example from a replica after the disk was
/// lost: the files are written again, and no missing one counts as removed. Older files from an
/// archive remove nothing.
#[test]
fn a_journal_restored_without_its_files_rewrites_them() {
    for older in [false, true] {
        let lost = TestDirectory::new();
        let opened = lost.open();
        lost.write_conversation(&opened);
        let routine = ItemId::parse("mail").unwrap();
        let stand = SessionHead { session: session("own"), entry: EntryId(2), label: Label::PLAIN };
        lost.write(&opened, vec![Record::Plan(PlanChange::SessionHead(routine.clone(), Some(stand)))]);
        lost.write(&opened, origins_record(&[sent(7, NOW)]));
        lost.write(&opened, vec![update_left(1, "one")]);
        let updates = lost.read(UPDATES);
        let messages = lost.read(MESSAGES);
        lost.write(&opened, origins_record(&[sent(8, NOW)]));
        lost.write(&opened, vec![update_left(2, "two")]);
        drop(opened);

        let house = TestDirectory::new();
        std::fs::create_dir_all(house.path("")).unwrap();
        std::fs::copy(lost.path("journal.db"), house.path("journal.db")).unwrap();
        if older {
            house.replace_file(UPDATES, updates.as_deref());
            house.replace_file(MESSAGES, messages.as_deref());
        }
        let opened = house.open();
        let notices = opened.notices.join("\n");
        assert!(notices.contains("The journal was put here without "), "{notices}");
        assert!(notices.contains("take them from your newest export"), "{notices}");
        assert_eq!(unread_texts(&opened), ["one", "two"], "{older}");
        assert_eq!(house.read(UPDATES).unwrap().matches("message").count(), 2, "{older}");
        assert_eq!(listed_message_ids(&house), [7, 8], "{older}");
        assert_eq!(house.read("sessions.json").as_deref().map(str::trim), Some("new"), "{older}");
        let stand = opened.state.plans.sessions.get(&routine);
        assert_eq!(stand.map(|stand| stand.session.as_str()), Some("own"), "{older}");
        let named = house.read("routine_sessions/mail");
        assert_eq!(named.as_deref().map(str::trim), Some("own"), "{older}");
        assert_eq!(house.external_edits(&opened, true), [], "{older}");
        drop(opened);
        let again = house.open();
        assert_eq!((again.notices.len(), unread_texts(&again).len()), (0, 2), "{older}: {:?}", again.notices);
    }
}
