//! The session of main and its history.
#![expect(clippy::unwrap_used, reason = "data created by the test is readable")]

use std::path::Path;
use std::sync::Arc;

use domain::conversation::SessionId;
use domain::schedule::ItemId;
use jiff::Zoned;
use journal::disk::Disk;
use journal::files::routine_sessions::RoutineSessions;
use journal::files::session_history::SessionHistory;
use journal::files::sessions::{MainSessionFile, SaveReason};
use testkit::disk::MemoryDisk;

struct TestSessions {
    disk: Arc<MemoryDisk>,
    sessions: MainSessionFile,
    history: SessionHistory,
}

fn now() -> Zoned {
    "2026-03-05T08:00:01.000012[America/Los_Angeles]".parse().unwrap()
}

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

impl TestSessions {
    fn new() -> Self {
        let disk = Arc::new(MemoryDisk::default());
        let state = Path::new("/data/state");
        let sessions = MainSessionFile::new(disk.clone(), state);
        let history = SessionHistory::open(disk.clone(), state, now().timestamp()).unwrap().value;
        Self { disk, sessions, history }
    }

    fn save(&mut self, session: &str, why: SaveReason) -> &mut Self {
        self.sessions.save(&id(session), why, &mut self.history, &now()).unwrap();
        self
    }

    fn delete(&mut self) -> &mut Self {
        self.sessions.delete().unwrap();
        self
    }

    /// The events as `event session parent`.
    fn event_lines(&self) -> Vec<String> {
        let parent = |parent: Option<SessionId>| parent.map_or("-".to_owned(), |id| id.to_string());
        let events = self.history.read_all().unwrap().events.into_iter();
        events.map(|e| format!("{} {} {}", e.kind.as_str(), e.session, parent(e.parent))).collect()
    }

    fn load(&self) -> Option<String> {
        self.sessions.load(now().timestamp()).unwrap().value.map(|id| id.to_string())
    }
}

/// SE-1, SE-3, SE-9, CP-5: the first session is recorded as created, a different one as compacted,
/// the same one not at all.
#[test]
fn the_history_records_how_each_session_was_created() {
    let mut house = TestSessions::new();
    assert_eq!(house.load(), None);
    house.save("a", SaveReason::AfterTurn).save("a", SaveReason::AfterTurn).save("b", SaveReason::AfterTurn);
    assert_eq!(house.event_lines(), ["created a -", "compacted b a"]);
    assert_eq!(house.load().as_deref(), Some("b"));
    assert_eq!(house.disk.read(Path::new("/data/state/sessions.json")).unwrap(), b"b");
}

/// SE-4: a swap changes the file without an event; later changes are recorded again.
#[test]
fn a_swap_changes_the_session_without_an_event() {
    let mut house = TestSessions::new();
    house.save("a", SaveReason::AfterTurn).save("f", SaveReason::Swap);
    assert_eq!((house.load().as_deref(), house.event_lines()), (Some("f"), vec!["created a -".to_owned()]));
    house.save("g", SaveReason::AfterTurn);
    assert_eq!(house.event_lines(), ["created a -", "compacted g f"]);
}

/// SE-5: deleting is never an error, and the next session is recorded as created.
#[test]
fn after_a_deletion_a_session_is_created() {
    let mut house = TestSessions::new();
    house.delete().save("a", SaveReason::AfterTurn).delete().delete();
    assert_eq!(house.load(), None);
    house.save("b", SaveReason::AfterTurn);
    assert_eq!(house.event_lines(), ["created a -", "created b -"]);
}

/// SE-2: an invalid content is not a session and is set aside instead of overwritten.
#[test]
fn a_file_without_an_id_is_not_a_session() {
    for (text, read) in [("  a-b \n", Some("a-b")), ("", None), (" \n", None), ("{\"main\": 1}", None)] {
        let house = TestSessions::new();
        house.disk.put("/data/state/sessions.json", text.as_bytes());
        let found = house.sessions.load(now().timestamp()).unwrap();
        assert_eq!(found.value.map(|id| id.to_string()).as_deref(), read, "{text:?}");
        let kept = house.disk.files().into_values().any(|bytes| bytes == text.as_bytes());
        assert!(kept && found.damage.is_some() == read.is_none(), "{text:?}");
    }
}

/// RP-5, RP-6, RP-7, RP-8, RP-9, DD-3, DD-4, DD-10, DD-35: each routine has its own file, created
/// when needed.
#[test]
fn each_routine_has_its_own_session() {
    let house = TestSessions::new();
    let mut sessions = RoutineSessions::new(house.disk.clone(), Path::new("/data/state"));
    let mail = ItemId::parse("mail").unwrap();
    let news = ItemId::parse("news").unwrap();
    let load = |sessions: &RoutineSessions, routine| sessions.load(routine, now().timestamp()).unwrap().value;
    assert_eq!((load(&sessions, &mail), sessions.delete(&mail).unwrap()), (None, false));

    sessions.save(&mail, &id("a")).unwrap();
    sessions.save(&news, &id("b")).unwrap();
    sessions.save(&mail, &id("c")).unwrap();
    house.disk.put("/data/state/routine_sessions/mail.0.tmp", b"half");
    assert_eq!((load(&sessions, &mail), load(&sessions, &news)), (Some(id("c")), Some(id("b"))));
    assert_eq!(sessions.routines().unwrap(), [mail.clone(), news.clone()]);
    assert_eq!(house.disk.read(Path::new("/data/state/routine_sessions/mail")).unwrap(), b"c");
    assert!(sessions.delete(&mail).unwrap() && !sessions.delete(&mail).unwrap());
    house.disk.put("/data/state/routine_sessions/news", b" \n");
    assert_eq!((load(&sessions, &mail), load(&sessions, &news)), (None, None));
    assert!(house.event_lines().is_empty());
}
