//! Changes of state files by other programs are adopted; files left out of date by our own crash
//! are not mistaken for such changes.
#![expect(clippy::disallowed_methods, reason = "the test is another program that writes into the directory")]
#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]

use std::path::PathBuf;
use std::sync::Arc;

use domain::assistant::StateEdit;
use domain::conversation::{Block, Branch, Conversation, EntryId, Head, Heard, Json, Reach, Said, SessionId};
use domain::cost::Source;
use domain::label::{Label, Realm};
use domain::record::{
    Address, Message, MessageChange, MessageId, PlanChange, Reading, Record, ReportChange, SentChange,
    SessionChange, Stand, SurfaceName,
};
use domain::report::{Report, ReportId};
use domain::schedule::ItemId;
use domain::sent::{End, InquiryId, Origin, SentId};
use domain::tool::{Outcome, ToolCall, ToolResult};
use engine::ports::Journal as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::{Opened, Paths, Place};
use tempfile::TempDir;

const NOW: Timestamp = Timestamp::constant(1_794_700_000, 0);

fn session(text: &str) -> SessionId {
    SessionId::read(text).unwrap()
}

struct House {
    dir: TempDir,
    runtime: tokio::runtime::Runtime,
}

/// A tool name, its input, and optionally a result with its label.
type Called<'a> = (&'a str, &'a str, Option<(Label, &'a str)>);

impl House {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        Self { dir: tempfile::tempdir().unwrap(), runtime }
    }

    fn open(&self) -> Opened {
        let disk = Arc::new(journal::disk::RealDisk);
        let paths = Paths::new(self.dir.path());
        journal::open(Place { paths, disk, zone: TimeZone::UTC, now: NOW, pid: 1 }).unwrap()
    }

    fn write(&self, opened: &Opened, records: Vec<Record>) {
        self.runtime.block_on(opened.journal.write(records)).unwrap();
    }

    fn look(&self, opened: &Opened, at_once: bool) -> Vec<StateEdit> {
        self.runtime.block_on(opened.journal.changed_outside(at_once, NOW)).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("state").join(name)
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path(name)).ok()
    }

    fn put(&self, name: &str, text: Option<&str>) {
        match text {
            Some(text) => std::fs::write(self.path(name), text).unwrap(),
            None => std::fs::remove_file(self.path(name)).unwrap(),
        }
    }

    /// Main has an entry in the session `old`; a compaction then starts the session `new`.
    fn talk(&self, opened: &Opened) {
        let mut conversation = Conversation::new(Default::default(), EntryId(1));
        let heard = |text: &str| Heard { text: text.to_owned(), ..Heard::note(String::new()) };
        let mut records = vec![Record::Moved(conversation.create(Branch::Main, session("old"), NOW))];
        let said = conversation.say(&Branch::Main, Said::Human(heard("hello")), NOW).unwrap();
        records.push(Record::Said(Branch::Main, said));
        records.push(Record::Session(SessionChange::Saved(session("old"), NOW)));
        let (entry, moved) =
            conversation.compact(&Branch::Main, "hello".to_owned(), session("new"), NOW).unwrap();
        records.push(Record::Said(Branch::Main, entry));
        records.push(Record::Moved(moved));
        records.push(Record::Session(SessionChange::Saved(session("new"), NOW)));
        self.write(opened, records);
    }

    /// After `TestDirectory::write_conversation`, a model calls these tools on main, one after the other.
    fn call(&self, opened: &Opened, calls: &[Called<'_>]) {
        let head = Head { entry: Some(EntryId(2)), session: session("new"), label: Label::PLAIN };
        let mut conversation = Conversation::new([(Branch::Main, head)].into(), EntryId(3));
        let id = || "c".to_owned();
        for (name, input, result) in calls {
            let call = ToolCall { id: id(), name: (*name).to_owned(), input: Json((*input).to_owned()) };
            let called = Said::Assistant(vec![Block::Call(call)], Reach::Whole);
            let result = result.map(|(label, text)| {
                let text = text.to_owned();
                let outcome = Outcome::Done;
                Said::Tools(vec![ToolResult { call: id(), text, outcome, label }])
            });
            for said in [Some(called), result].into_iter().flatten() {
                let entry = conversation.say(&Branch::Main, said, NOW).unwrap();
                self.write(opened, vec![Record::Said(Branch::Main, entry)]);
            }
        }
    }
}

fn left(id: u64, text: &str) -> Record {
    let from = "fork/a".to_owned();
    let text = text.to_owned();
    Record::Report(ReportChange::Left(Report { id: ReportId(id), at: NOW, from, text, label: Label::PLAIN }))
}

fn read_by_main(id: u64) -> Record {
    let reading = Reading { quoted: vec![ReportId(id)], counted: Vec::new(), entry: None };
    Record::Report(ReportChange::Read(reading))
}

fn waiting(opened: &Opened) -> Vec<String> {
    opened.memory.reports.waiting.iter().map(|report| report.text.clone()).collect()
}

const UPDATES: &str = "pending_updates.json";

#[test]
fn a_sessions_file_that_names_no_session_means_a_new_one() {
    for text in [None, Some(""), Some(" \n"), Some("{\"main\": 1}")] {
        let house = House::new();
        let opened = house.open();
        house.talk(&opened);
        assert_eq!(house.look(&opened, true), []);
        house.put("sessions.json", text);
        assert_eq!(house.look(&opened, false), [], "{text:?}: it may be half written");
        assert_eq!(house.look(&opened, false), [StateEdit::MainSession(None)], "{text:?}");
        drop(opened);
        // Also while the daemon is down.
        let opened = house.open();
        assert_eq!(house.look(&opened, true), [StateEdit::MainSession(None)], "{text:?}");
        assert!(house.read("sessions.json").is_none_or(|text| text != "new"), "{text:?}");
    }
}

#[test]
fn a_sessions_file_can_name_another_session() {
    let house = House::new();
    let opened = house.open();
    house.talk(&opened);
    house.put("sessions.json", Some("old\n"));
    let head = Head {
        entry: Some(EntryId(1)),
        session: session("old"),
        label: opened
            .memory
            .conversation
            .head(&Branch::Main)
            .map_or(Label::private(domain::label::Realm::Chat), |head| head.label),
    };
    assert_eq!(house.look(&opened, true), [StateEdit::MainSession(Some(head))]);
    house.put("sessions.json", Some("strange"));
    assert_eq!(house.look(&opened, true), [StateEdit::UnknownMainSession(session("strange"))]);
    assert_eq!(house.read("sessions.json"), None, "the next session is created");
}

/// Addresses written by the user and those shown by pages and mail are known again after a restart.
/// An address that a model may have composed is not.
#[test]
fn addresses_that_were_seen_are_known_after_a_restart() {
    let house = House::new();
    let opened = house.open();
    house.talk(&opened);
    let said = |id, surface, text: &str, to| {
        let text = text.to_owned();
        let images = Vec::new();
        let mark = None;
        let message =
            Message { id: MessageId(id), at: NOW, surface, to, text, images, mark, label: Label::PLAIN };
        Record::Message(MessageChange::Received(message))
    };
    let button = Address::Button(SentId(1), InquiryId("0a1b2c3d".to_owned()));
    house.write(
        &opened,
        vec![
            said(1, SurfaceName::Page, "read https://written.example/a, please", Address::Here),
            said(2, SurfaceName::House, "look at https://ours.example/a", Address::Here),
            said(3, SurfaceName::Discord, "https://button.example/a", button),
        ],
    );
    let asked = r#"{"url":"https://asked.example/q"}"#;
    let web = Label::outside(Realm::Web);
    let mail = Label::both(Realm::Mail);
    house.call(
        &opened,
        &[
            ("WebFetch", asked, Some((web, "see https://page.example/b and https://asked.example/q"))),
            ("Bash", asked, Some((mail, "Ann: https://mail.example/c"))),
            ("Task", asked, Some((mail, "go to https://composed.example/d"))),
            ("Read", asked, Some((Label::private(Realm::Files), "https://file.example/e"))),
        ],
    );
    drop(opened);
    let messages = house.open().memory.messages;
    assert_eq!(*messages.links, ["https://written.example/a"]);
    assert_eq!(*messages.seen, ["https://page.example/b", "https://mail.example/c"]);
}

/// An address that a model composed before a restart is not trusted after it, even if a later
/// result, a server or a search provider's model repeats it.
#[test]
fn addresses_that_a_model_composed_do_not_count_as_seen_after_a_restart() {
    let house = House::new();
    let opened = house.open();
    house.talk(&opened);
    let web = Label::outside(Realm::Web);
    let mail = Label::both(Realm::Mail);
    let server = Label::both(Realm::Server);
    let found =
        "- Trains\n  https://trains.example/\n\nAnswer of OpenAI from these pages: https://answer.example/a";
    house.call(
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
    let seen = house.open().memory.messages.seen;
    assert_eq!(*seen, ["https://trains.example/", "https://mail.example/c", "https://asked.example/q"]);
}

#[test]
fn our_own_writes_are_no_changes() {
    let house = House::new();
    let opened = house.open();
    house.talk(&opened);
    house.write(&opened, vec![left(1, "one"), left(2, "two")]);
    house.write(&opened, vec![read_by_main(1)]);
    for at_once in [true, false, false, true] {
        assert_eq!(house.look(&opened, at_once), []);
    }
    assert_eq!(house.read(UPDATES).unwrap().matches("message").count(), 1);
}

#[test]
fn updates_of_other_programs_are_seen_while_the_program_runs() {
    let house = House::new();
    let opened = house.open();
    house.write(&opened, vec![left(1, "one"), left(2, "two")]);
    let ours = house.read(UPDATES).unwrap();
    assert!(!ours.contains("\"id\""), "{ours}");
    let theirs = r#"{"ts": "2026-01-02T03:04:05+01:00", "message": "theirs"}"#;
    house.put(UPDATES, Some(&ours.replace(']', &format!(", {theirs}]"))));
    let added =
        StateEdit::UpdateAdded { at: "2026-01-02T02:04:05Z".parse().unwrap(), text: "theirs".to_owned() };
    assert_eq!(house.look(&opened, false), []);
    assert_eq!(house.look(&opened, false), std::slice::from_ref(&added));
    // Until the assistant has adopted the change, the file is not overwritten.
    house.write(&opened, vec![left(3, "three")]);
    assert!(house.read(UPDATES).unwrap().contains("theirs"));
    assert_eq!(house.look(&opened, true), [added]);
    let report = Report {
        id: ReportId(4),
        at: "2026-01-02T02:04:05Z".parse().unwrap(),
        from: "elsewhere".to_owned(),
        text: "theirs".to_owned(),
        label: Label::PLAIN,
    };
    house.write(&opened, vec![Record::Report(ReportChange::Left(report))]);
    assert_eq!(house.look(&opened, true), []);
    let both = house.read(UPDATES).unwrap();
    assert!(both.contains("three") && both.contains("theirs"), "{both}");

    house.put(UPDATES, Some("[]"));
    let gone = [1, 2, 3, 4].map(|id| StateEdit::UpdateRemoved(ReportId(id)));
    assert_eq!(house.look(&opened, true), gone);
    house.write(&opened, [1, 2, 3, 4].map(read_by_main).to_vec());
    assert_eq!(house.look(&opened, true), []);
    house.write(&opened, vec![left(5, "five")]);
    house.put(UPDATES, None);
    assert_eq!(house.look(&opened, true), [StateEdit::UpdateRemoved(ReportId(5))]);
}

/// Splits the notice about the damaged file `name` from the other edits.
fn damage_told(edits: Vec<StateEdit>, name: &str) -> Vec<StateEdit> {
    let (told, others): (Vec<_>, Vec<_>) =
        edits.into_iter().partition(|edit| matches!(edit, StateEdit::Damaged(_)));
    let [StateEdit::Damaged(words)] = &told[..] else { panic!("one notice: {told:?}") };
    assert!(words.contains(name) && words.contains("was damaged"), "{words}");
    others
}

#[test]
fn updates_that_can_be_read_in_a_damaged_file_are_taken_over_while_the_program_runs() {
    let house = House::new();
    let opened = house.open();
    house.write(&opened, vec![left(1, "one"), left(2, "two")]);
    let ours: serde_json::Value = serde_json::from_str(&house.read(UPDATES).unwrap()).unwrap();
    // The record of the update "two" is one of the invalid ones.
    let theirs = r#"{"ts": "2026-01-02T03:04:05+01:00", "message": "theirs"}"#;
    house.put(UPDATES, Some(&format!(r#"[{}, {{"ts": 7}}, {theirs}]"#, ours[0])));
    let added =
        StateEdit::UpdateAdded { at: "2026-01-02T02:04:05Z".parse().unwrap(), text: "theirs".to_owned() };
    assert_eq!(house.look(&opened, false), []);
    assert_eq!(damage_told(house.look(&opened, false), UPDATES), std::slice::from_ref(&added));
    // Until the assistant has adopted the change, the file is not overwritten, and the damage is
    // reported once.
    house.write(&opened, vec![left(3, "three")]);
    assert!(house.read(UPDATES).unwrap().contains("theirs"));
    assert_eq!(house.look(&opened, false), [added]);
    let report = Report {
        id: ReportId(4),
        at: "2026-01-02T02:04:05Z".parse().unwrap(),
        from: "elsewhere".to_owned(),
        text: "theirs".to_owned(),
        label: Label::PLAIN,
    };
    house.write(&opened, vec![Record::Report(ReportChange::Left(report))]);
    assert_eq!(house.look(&opened, false), []);
    let all = house.read(UPDATES).unwrap();
    assert!(["one", "two", "three", "theirs"].iter().all(|text| all.contains(text)), "{all}");
    assert_eq!(house.look(&opened, false), []);
    // A completely unreadable file removes nothing and is reported too.
    house.put(UPDATES, Some("[{"));
    assert_eq!(damage_told(house.look(&opened, true), UPDATES), []);
    assert_eq!(house.read(UPDATES).as_deref(), Some(all.as_str()));
    assert_eq!(house.look(&opened, true), []);
}

/// Updates that main has already read are removed from a damaged file when it is repaired.
#[test]
fn a_damaged_file_shows_no_update_that_was_read_already() {
    let house = House::new();
    let opened = house.open();
    house.write(&opened, vec![left(1, "one")]);
    let ours: serde_json::Value = serde_json::from_str(&house.read(UPDATES).unwrap()).unwrap();
    house.write(&opened, vec![read_by_main(1)]);
    house.put(UPDATES, Some(&format!("[{}, 7]", ours[0])));
    assert_eq!(damage_told(house.look(&opened, true), UPDATES), []);
    assert_eq!(house.read(UPDATES), None);
}

#[test]
fn updates_that_were_removed_while_the_program_was_down_stay_removed() {
    let house = House::new();
    let opened = house.open();
    house.write(&opened, vec![left(1, "one")]);
    let one = house.read(UPDATES).unwrap();
    house.write(&opened, vec![left(2, "two")]);
    drop(opened);
    house.put(UPDATES, Some(&format!("{one}\n")));
    let opened = house.open();
    assert_eq!(waiting(&opened), ["one"]);
    drop(opened);
    house.put(UPDATES, None);
    assert_eq!(waiting(&house.open()), [""; 0]);
}

const UPDATES_NOTE: &str = "state:pending_updates";
const MESSAGES_NOTE: &str = "state:fork_messages";

/// The hash that the database stores after writing a file. A process that dies before writing the
/// file does not store it.
fn note(house: &House, name: &str) -> String {
    let log = rusqlite::Connection::open(house.path("journal.db")).unwrap();
    log.query_row("SELECT value FROM keepsakes WHERE name = ?", [name], |row| row.get(0)).unwrap()
}

/// Simulates a crash between the write of the database and that of the file.
fn dies_before_the_file(house: &House, name: &str, note: &str, file: &str, text: &str) {
    let log = rusqlite::Connection::open(house.path("journal.db")).unwrap();
    log.execute("UPDATE keepsakes SET value = ? WHERE name = ?", [note, name]).unwrap();
    house.put(file, Some(text));
}

#[test]
fn a_file_that_a_crash_left_behind_is_no_change() {
    let house = House::new();
    let opened = house.open();
    house.write(&opened, vec![left(1, "one")]);
    let before = house.read(UPDATES).unwrap();
    let noted = note(&house, UPDATES_NOTE);
    house.write(&opened, vec![left(2, "two")]);
    drop(opened);
    dies_before_the_file(&house, UPDATES_NOTE, &noted, UPDATES, &before);
    let opened = house.open();
    assert_eq!(waiting(&opened), ["one", "two"]);
    let before = house.read(UPDATES).unwrap();
    let noted = note(&house, UPDATES_NOTE);
    house.write(&opened, vec![read_by_main(1), read_by_main(2)]);
    assert_eq!(house.read(UPDATES), None);
    drop(opened);
    dies_before_the_file(&house, UPDATES_NOTE, &noted, UPDATES, &before);
    assert_eq!(waiting(&house.open()), [""; 0], "what was read is not read again");
    assert_eq!(house.read(UPDATES), None);
}

#[test]
fn a_session_file_of_a_routine_can_be_removed_or_replaced() {
    let house = House::new();
    let opened = house.open();
    house.talk(&opened);
    let routine = ItemId::parse("mail").unwrap();
    let stand =
        |text: &str, entry| Stand { session: session(text), entry: EntryId(entry), label: Label::PLAIN };
    let set = |stand| vec![Record::Plan(PlanChange::Session(routine.clone(), stand))];
    house.write(&opened, set(Some(stand("own", 2))));
    assert_eq!(house.look(&opened, true), []);
    house.put("routine_sessions/mail", None);
    assert_eq!(house.look(&opened, false), []);
    assert_eq!(house.look(&opened, false), [StateEdit::RoutineSession(routine.clone(), None)]);
    house.put("routine_sessions/mail", Some("strange"));
    let unknown = StateEdit::UnknownRoutineSession(routine.clone(), session("strange"));
    assert_eq!(house.look(&opened, true), [unknown]);
    house.put("routine_sessions/mail", Some("old"));
    let edits = house.look(&opened, true);
    assert!(
        matches!(&edits[..], [StateEdit::RoutineSession(_, Some(stand))] if stand.session == session("old") && stand.entry == EntryId(1)),
        "{edits:?}"
    );
    house.write(&opened, set(None));
    assert_eq!(house.look(&opened, true), []);
    assert_eq!(house.read("routine_sessions/mail"), None);
}

const MESSAGES: &str = "fork_messages.json";

/// A message `id` sent by a run of the routine `mail`.
fn sent(id: u64, at: Timestamp) -> Origin {
    let source = Source::Routine("mail".to_owned());
    let label = "chat;report".parse().unwrap();
    let end = End { source, root: None, entry: EntryId(900), label };
    Origin { id: SentId(id), session: session("run"), parent: Some(session("new")), at, end: Some(end) }
}

fn kept(origins: &[Origin]) -> Vec<Record> {
    vec![Record::from(SentChange::Kept(origins.to_vec(), NOW))]
}

fn line(id: u64, run: &str, seconds: i64) -> String {
    format!(r#"{{"message_id":{id},"fork_session_id":"{run}","parent_session_id":"new","ts":{seconds}.0}}"#)
}

fn listed(house: &House) -> Vec<u64> {
    let text = house.read(MESSAGES).unwrap_or_else(|| "[]".to_owned());
    let records: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    records.iter().map(|record| record["message_id"].as_u64().unwrap()).collect()
}

fn found(opened: &Opened, id: u64) -> Option<SessionId> {
    use domain::sent::Found;
    match opened.memory.messages.sent.origin(SentId(id), NOW) {
        Found::Live(origin, _) => Some(origin.session.clone()),
        Found::Expired(_) | Found::Unknown => None,
    }
}

#[test]
fn records_of_sent_messages_are_followed_while_the_program_runs() {
    let house = House::new();
    let opened = house.open();
    house.talk(&opened);
    house.write(&opened, kept(&[sent(501, NOW), sent(502, NOW)]));
    assert_eq!((house.look(&opened, false), house.look(&opened, true)), (vec![], vec![]), "our own writes");

    // One record is changed, one removed, one added for a known session, one for an unknown one,
    // one is expired, and one is from the future.
    let now = NOW.as_second();
    let lines = [
        line(501, "old", now - 60),
        line(503, "old", now - 60),
        line(504, "strange", now - 60),
        line(505, "old", now - 7 * 86400),
        line(506, "old", now + 86400),
    ];
    house.put(MESSAGES, Some(&format!("[{}]", lines.join(","))));
    assert_eq!(house.look(&opened, false), [], "it may be half written");
    let edits = house.look(&opened, false);
    let [StateEdit::RunMessages { kept: added, gone }] = &edits[..] else { panic!("{edits:?}") };
    let of = |origin: &Origin| (origin.id.0, origin.end.as_ref().map(|end| end.entry));
    let old = Some(EntryId(1));
    assert_eq!(added.iter().map(of).collect::<Vec<_>>(), [(501, old), (503, old), (504, None), (506, old)]);
    assert_eq!(gone, &[SentId(502)]);
    // Until the assistant has adopted the change, the file is not overwritten.
    house.write(&opened, kept(&[sent(507, NOW)]));
    assert_eq!(listed(&house), [501, 503, 504, 505, 506]);
    assert_eq!(house.look(&opened, true), edits);
    house.write(&opened, kept(added));
    house.write(&opened, vec![Record::from(SentChange::Removed(gone.clone()))]);
    assert_eq!(house.look(&opened, true), []);
    assert_eq!(listed(&house), [501, 503, 504, 506, 507]);
    assert_eq!(house.look(&opened, false), []);

    // A file without records removes all of them, an unreadable one none.
    house.put(MESSAGES, Some("[{]"));
    assert_eq!(damage_told(house.look(&opened, true), MESSAGES), []);
    assert_eq!(listed(&house), [501, 503, 504, 506, 507]);
    for text in [None, Some(""), Some("[]")] {
        house.put(MESSAGES, text);
        let edits = house.look(&opened, true);
        let [StateEdit::RunMessages { kept: added, gone }] = &edits[..] else { panic!("{edits:?}") };
        assert_eq!((added.len(), gone.len()), (0, 5), "{text:?}");
    }
}

#[test]
fn records_that_can_be_read_in_a_damaged_file_are_taken_over_while_the_program_runs() {
    let house = House::new();
    let opened = house.open();
    house.talk(&opened);
    house.write(&opened, kept(&[sent(501, NOW), sent(502, NOW)]));
    let now = NOW.as_second();
    // The record of the message 502 is the invalid one.
    let lines = [line(501, "run", now), r#"{"message_id": 502}"#.to_owned(), line(503, "old", now - 60)];
    house.put(MESSAGES, Some(&format!("[{}]", lines.join(","))));
    assert_eq!(house.look(&opened, false), [], "it may be half written");
    let edits = damage_told(house.look(&opened, false), MESSAGES);
    let [StateEdit::RunMessages { kept: added, gone }] = &edits[..] else { panic!("{edits:?}") };
    assert_eq!(added.iter().map(|origin| origin.id.0).collect::<Vec<_>>(), [503]);
    assert_eq!(gone, &[], "a damaged file does not tell what was removed");
    // Until the assistant has adopted the change, the file is not overwritten, and the damage is
    // reported once.
    house.write(&opened, kept(&[sent(504, NOW)]));
    assert_eq!(listed(&house), [501, 503]);
    assert_eq!(house.look(&opened, true), edits);
    house.write(&opened, kept(added));
    assert_eq!(house.look(&opened, true), []);
    assert_eq!(listed(&house), [501, 502, 503, 504]);
    assert_eq!(house.look(&opened, false), []);
}

/// The time of a foreign record does not affect the age of other records.
#[test]
fn a_record_from_the_future_removes_no_other() {
    let house = House::new();
    let opened = house.open();
    house.talk(&opened);
    house.write(&opened, kept(&[sent(501, NOW)]));
    let now = NOW.as_second();
    let lines = [line(501, "run", now), line(506, "old", now + 30 * 86400)];
    house.put(MESSAGES, Some(&format!("[{}]", lines.join(","))));
    let edits = house.look(&opened, true);
    let [StateEdit::RunMessages { kept: added, .. }] = &edits[..] else { panic!("{edits:?}") };
    assert_eq!(added.iter().map(|origin| origin.id.0).collect::<Vec<_>>(), [506]);
    house.write(&opened, kept(added));
    assert_eq!(house.look(&opened, true), []);
    assert_eq!(listed(&house), [501, 506]);
    drop(opened);
    assert!(found(&house.open(), 501).is_some());
}

#[test]
fn records_of_sent_messages_that_changed_while_the_program_was_down_hold() {
    let house = House::new();
    let opened = house.open();
    house.talk(&opened);
    house.write(&opened, kept(&[sent(501, NOW), sent(502, NOW)]));
    drop(opened);
    house.put(MESSAGES, Some(&format!("[{}]", line(501, "old", NOW.as_second()))));
    let opened = house.open();
    let known = [501, 502].map(|id| found(&opened, id));
    assert_eq!(known, [Some(session("old")), None]);
    assert_eq!(house.look(&opened, true), []);
    drop(opened);
    house.put(MESSAGES, None);
    assert_eq!(found(&house.open(), 501), None);
}

#[test]
fn records_that_a_crash_kept_from_the_file_are_not_removed() {
    let house = House::new();
    let opened = house.open();
    house.write(&opened, kept(&[sent(501, NOW)]));
    let before = house.read(MESSAGES).unwrap();
    let noted = note(&house, MESSAGES_NOTE);
    house.write(&opened, kept(&[sent(502, NOW)]));
    drop(opened);
    dies_before_the_file(&house, MESSAGES_NOTE, &noted, MESSAGES, &before);
    let opened = house.open();
    let both = [501, 502].map(|id| found(&opened, id).is_some());
    assert_eq!((both, listed(&house)), ([true, true], vec![501, 502]));
}

/// A journal that is restored without its files, for example from a replica after the disk was
/// lost: the files are written again, and no missing one counts as removed. Older files from an
/// archive remove nothing.
#[test]
fn a_journal_that_comes_alone_keeps_all_that_its_files_said() {
    for older in [false, true] {
        let lost = House::new();
        let opened = lost.open();
        lost.talk(&opened);
        let routine = ItemId::parse("mail").unwrap();
        let stand = Stand { session: session("own"), entry: EntryId(2), label: Label::PLAIN };
        lost.write(&opened, vec![Record::Plan(PlanChange::Session(routine.clone(), Some(stand)))]);
        lost.write(&opened, kept(&[sent(7, NOW)]));
        lost.write(&opened, vec![left(1, "one")]);
        let updates = lost.read(UPDATES);
        let messages = lost.read(MESSAGES);
        lost.write(&opened, kept(&[sent(8, NOW)]));
        lost.write(&opened, vec![left(2, "two")]);
        drop(opened);

        let house = House::new();
        std::fs::create_dir_all(house.path("")).unwrap();
        std::fs::copy(lost.path("journal.db"), house.path("journal.db")).unwrap();
        if older {
            house.put(UPDATES, updates.as_deref());
            house.put(MESSAGES, messages.as_deref());
        }
        let opened = house.open();
        let notices = opened.notices.join("\n");
        assert!(notices.contains("The journal was put here without "), "{notices}");
        assert!(notices.contains("take them from your newest export"), "{notices}");
        assert_eq!(waiting(&opened), ["one", "two"], "{older}");
        assert_eq!(house.read(UPDATES).unwrap().matches("message").count(), 2, "{older}");
        assert_eq!(listed(&house), [7, 8], "{older}");
        assert_eq!(house.read("sessions.json").as_deref().map(str::trim), Some("new"), "{older}");
        let stand = opened.memory.plans.sessions.get(&routine);
        assert_eq!(stand.map(|stand| stand.session.as_str()), Some("own"), "{older}");
        let named = house.read("routine_sessions/mail");
        assert_eq!(named.as_deref().map(str::trim), Some("own"), "{older}");
        assert_eq!(house.look(&opened, true), [], "{older}");
        drop(opened);
        let again = house.open();
        assert_eq!((again.notices.len(), waiting(&again).len()), (0, 2), "{older}: {:?}", again.notices);
    }
}
