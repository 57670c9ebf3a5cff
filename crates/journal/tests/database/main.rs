//! The database: durability, recovery, and notices for the user.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]
#![expect(clippy::disallowed_methods, reason = "the test damages files without the trait Disk")]

mod backups;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::conversation::{Branch, Conversation, EntryContent, SessionId, Text, UserInput};
use domain::delivery::{Delivery, DeliveryChange};
use domain::occurrence::{Occurrence, OccurrenceEnd, OccurrenceKey, OccurrenceState};
use domain::record::{PlanChange, Record, SessionChange, StateChange};
use domain::schedule::{Lateness, WebhookSpec};
use domain::settings::{Setting, Settings};
use engine::ports::Journal as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::disk::RealDisk;
use journal::files::items::Item as _;
use journal::{OpenError, OpenParams, OpenedJournal, Paths, open, open_read_only};
use tempfile::TempDir;
use tokio::runtime::Runtime;

struct TestJournal {
    dir: TempDir,
    runtime: Runtime,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

impl TestJournal {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        Self { dir: tempfile::tempdir().unwrap(), runtime }
    }

    fn paths(&self) -> Paths {
        Paths::new(self.dir.path())
    }

    fn place(&self, now: Timestamp) -> OpenParams {
        let paths = self.paths();
        let disk = Arc::new(RealDisk);
        OpenParams { paths, disk, zone: TimeZone::UTC, now, pid: 1 }
    }

    fn try_open(&self, now: Timestamp) -> Result<OpenedJournal, OpenError> {
        open(self.place(now))
    }

    fn open(&self, now: Timestamp) -> OpenedJournal {
        self.try_open(now).unwrap()
    }

    /// Appends `words` to main, as the assistant would.
    fn say(&self, words: &[&str]) {
        let OpenedJournal { journal, state: memory, .. } = self.open(at(0));
        let mut conversation = memory.conversation;
        let mut records = Vec::new();
        if conversation.head(&Branch::Main).is_none() {
            let session = SessionId::parse("first-session").unwrap();
            records.push(Record::BranchMoved(conversation.create(Branch::Main, session.clone(), at(0))));
            records.push(Record::Session(SessionChange::Saved(session, at(0))));
        }
        records.extend(words.iter().map(|text| message_record(&mut conversation, text)));
        self.runtime.block_on(journal.write(records)).unwrap();
    }

    /// The entries of main, or the error.
    fn texts(&self, opened: &OpenedJournal) -> Result<Vec<String>, String> {
        let recent = self.runtime.block_on(opened.journal.recent_entries(Branch::Main, None, 1000));
        recent
            .map(|entries| entries.iter().map(|entry| entry.content.text()).collect())
            .map_err(|e| e.to_string())
    }

    fn back_up(&self, now: Timestamp) -> Option<PathBuf> {
        let OpenedJournal { journal, .. } = self.open(now);
        self.runtime.block_on(journal.back_up(now)).unwrap()
    }

    fn damaged_copies(&self) -> Vec<PathBuf> {
        let names = std::fs::read_dir(self.paths().state()).unwrap().map(|entry| entry.unwrap().path());
        let is_aside = |path: &PathBuf| path.to_string_lossy().contains("journal.db.corrupt-");
        let is_beside = |path: &PathBuf| {
            let path = path.to_string_lossy();
            path.ends_with("-wal") || path.ends_with("-shm")
        };
        names.filter(is_aside).filter(|path| !is_beside(path)).collect()
    }
}

fn message_record(conversation: &mut Conversation, text: &str) -> Record {
    let heard = UserInput { preface: String::new(), text: text.to_owned(), images: Vec::new() };
    let entry = conversation.append(&Branch::Main, EntryContent::User(heard), at(0)).unwrap();
    Record::EntryAppended(Branch::Main, entry)
}

fn damage(path: &Path, how: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = std::fs::read(path).unwrap();
    how(&mut bytes);
    std::fs::write(path, &bytes).unwrap();
    bytes
}

fn occurrence_record(source: &str, due: i64, stage: OccurrenceState) -> Record {
    Record::Plan(PlanChange::Occurrence(Occurrence {
        key: OccurrenceKey { source: source.parse().unwrap(), due: day(due) },
        name: source.to_owned(),
        prompt: String::new(),
        lateness: Lateness::OnTime,
        tries: 1,
        state: stage,
        since: day(due),
        shown_verbatim: false,
    }))
}

fn done() -> OccurrenceState {
    OccurrenceState::Ended(OccurrenceEnd::Done(String::new()))
}

fn day(day: i64) -> Timestamp {
    at(day * 86_400)
}

/// B12: a start removes old occurrences; the newest one of each job and open ones stay.
#[test]
fn old_occurrences_are_removed() {
    let desk = TestJournal::new();
    let records = vec![
        occurrence_record("routine:mail", 0, done()),
        occurrence_record("routine:mail", 1, OccurrenceState::Queued),
        occurrence_record("routine:mail", 9, done()),
        occurrence_record("routine:mail", 11, done()),
        occurrence_record("routine:mail", 100, done()),
        occurrence_record("routine:tea", 2, done()),
        occurrence_record("routine:tea", 3, done()),
    ];
    desk.runtime.block_on(desk.open(day(0)).journal.write(records)).unwrap();
    desk.open(day(101));
    let kept = open_read_only(&desk.paths()).unwrap().unwrap().occurrences(None, 100).unwrap();
    let kept: Vec<String> =
        kept.iter().map(|kept| format!("{} {}", kept.key.source, days(kept.key.due))).collect();
    assert_eq!(kept, ["routine:mail 100", "routine:mail 11", "routine:tea 3", "routine:mail 1"]);
}

/// B12: neither an occurrence dated in the future nor a clock that is ahead at a start makes recent
/// occurrences old.
#[test]
fn a_clock_that_is_ahead_removes_no_recent_occurrences() {
    for (opened, ahead) in [(101, Some(4_000)), (4_000, None)] {
        let desk = TestJournal::new();
        let mut records: Vec<Record> =
            (90..100).map(|due| occurrence_record("routine:mail", due, done())).collect();
        records.extend(ahead.map(|due| occurrence_record("routine:tea", due, done())));
        let written = records.len();
        desk.runtime.block_on(desk.open(day(90)).journal.write(records)).unwrap();
        desk.open(day(opened));
        let kept = open_read_only(&desk.paths()).unwrap().unwrap().occurrences(None, 100).unwrap();
        assert_eq!(kept.len(), written, "opened on day {opened}");
    }
}

/// F2: marks of webhook deliveries are retained for a week, even if an earlier delivery is dated in
/// the future and after the clock was ahead.
#[test]
fn a_clock_that_was_ahead_forgets_no_delivery_marks() {
    let desk = TestJournal::new();
    let came = |mark: &str, due: i64, at: i64| {
        let hook = WebhookSpec::read("---\nid: ci\nfields: {}\n---\nLook.\n", &TimeZone::UTC).unwrap();
        let key = OccurrenceKey { source: "webhook:ci".parse().unwrap(), due: day(due) };
        let delivery = Delivery { webhook: hook, values: Vec::new(), marks: vec![mark.to_owned()] };
        Record::Plan(PlanChange::Delivery(DeliveryChange::Received(key, Arc::new(delivery), day(at))))
    };
    let records = vec![came("before", 1, 1), came("ahead", 4_000, 4_000), came("after", 4_001, 2)];
    desk.runtime.block_on(desk.open(day(1)).journal.write(records)).unwrap();
    let known = desk.open(day(3)).state.messages.deliveries;
    for mark in ["before", "ahead", "after"] {
        assert!(known.is_known(&[mark.to_owned()], day(3)), "{mark}");
    }
    assert!(!known.is_known(&["after".to_owned()], day(10)), "it came on the second day");
}

fn days(due: Timestamp) -> i64 {
    due.duration_since(at(0)).as_hours() / 24
}

#[test]
fn entries_survive_a_restart() {
    let desk = TestJournal::new();
    desk.say(&["one", "two"]);
    desk.say(&["three"]);

    let opened = desk.open(at(9));
    assert_eq!(desk.texts(&opened).unwrap(), ["one", "two", "three"]);
    assert_eq!(opened.notices, Vec::<String>::new());
}

/// B3: a setting in a transaction that fails is restored.
#[test]
fn a_setting_in_a_failed_transaction_is_restored() {
    let desk = TestJournal::new();
    desk.say(&["one"]);
    let opened = desk.open(at(9));
    let named = |name: &str| {
        let mut settings = Settings::default();
        Setting::Name.set(&mut settings, name).unwrap();
        Record::State(StateChange::SettingChanged(Setting::Name, Box::new(settings), at(9)))
    };
    let write = |records: Vec<Record>| desk.runtime.block_on(opened.journal.write(records));
    write(vec![named("Ada")]).unwrap();
    let there =
        desk.runtime.block_on(opened.journal.recent_entries(Branch::Main, None, 1)).unwrap().remove(0);
    write(vec![named("Mallory"), Record::EntryAppended(Branch::Main, there)]).unwrap_err();
    drop(opened);
    assert_eq!(desk.open(at(10)).state.choices.settings.name.as_deref(), Some("Ada"));
}

#[test]
fn the_path_to_an_entry_is_cached_and_extended() {
    let desk = TestJournal::new();
    desk.say(&["one", "two", "three"]);
    let opened = desk.open(at(9));
    let head = opened.state.conversation.head(&Branch::Main).unwrap().entry.unwrap();
    let read = |id| desk.runtime.block_on(opened.journal.path(id)).unwrap();

    let whole = read(head);
    let earlier = read(domain::conversation::EntryId(head.0 - 1));
    let again = read(head);

    assert_eq!(whole.len(), 3);
    assert_eq!(earlier.len(), 2);
    assert!(Arc::ptr_eq(&whole[0].content, &again[0].content), "the beginning is shared, not read again");
    assert_eq!(whole, again);
}

/// A2: a start removes all leftovers of interrupted writes; files of the user stay.
#[test]
fn leftovers_of_interrupted_writes_are_removed() {
    let desk = TestJournal::new();
    desk.say(&["one"]);
    let root = desk.paths().root().to_owned();
    let half = [
        ".claude/agents/guide.md.0.tmp",
        "webhooks/ci.md.3.tmp",
        "routines/mail.md.0.tmp",
        "state/backups/journal-20270115T080010Z.tmp",
        "state/backups/journal-20270114T080010Z.db.tmp",
        "state/before-migration/journal-20270114T080010Z-format-9.db.tmp",
    ];
    let theirs = [".claude/agents/mine.tmp", "webhooks/notes.tmp"];
    for file in half.iter().chain(&theirs) {
        std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        std::fs::write(root.join(file), "half").unwrap();
    }
    drop(desk.open(at(20)));
    let there = |files: &[&str]| files.iter().filter(|file| root.join(file).exists()).count();
    assert_eq!((there(&half), there(&theirs)), (0, 2));
}

#[test]
fn a_damaged_journal_is_set_aside_and_the_newest_backup_is_used() {
    let desk = TestJournal::new();
    desk.say(&["one", "two"]);
    desk.back_up(at(10)).unwrap();
    desk.say(&["three"]);
    let damaged = damage(&desk.paths().database(), |bytes| bytes[..8192].fill(7));

    let opened = desk.open(at(20));

    assert_eq!(desk.texts(&opened).unwrap(), ["one", "two"]);
    let [notice] = &opened.notices[..] else { panic!("one notice: {:?}", opened.notices) };
    assert!(notice.contains("the journal was damaged") && notice.contains("backup journal-2027"), "{notice}");
    let [aside] = &desk.damaged_copies()[..] else { panic!("one file is kept aside") };
    assert!(notice.contains(aside.to_str().unwrap()));
    assert_eq!(std::fs::read(aside).unwrap(), damaged, "as it was found");
}

/// B5: with a journal damaged in any way the daemon starts, nothing is lost silently, and the user
/// is notified.
#[test]
fn a_journal_damaged_in_any_way_does_not_prevent_a_start_and_is_kept() {
    let desk = TestJournal::new();
    desk.say(&(0..40).map(|_| "a sentence of some length, so that there are pages").collect::<Vec<_>>());
    let sound = std::fs::read(desk.paths().database()).unwrap();
    let mut cases: Vec<(String, Vec<u8>)> = vec![
        ("empty".into(), Vec::new()),
        ("text".into(), b"this is not a database".to_vec()),
        ("zeros".into(), vec![0; sound.len()]),
        ("json".into(), b"{\"version\": 99}".to_vec()),
    ];
    cases.extend((1..20).map(|n| (format!("cut at {n}/20"), sound[..sound.len() * n / 20].to_vec())));
    cases.extend((0..30).map(|n| {
        let mut bytes = sound.clone();
        let start = n * bytes.len() / 30;
        let end = (start + 512).min(bytes.len());
        bytes[start..end].fill(0xA5);
        (format!("overwritten from {start}"), bytes)
    }));
    assert!(cases.len() >= 50);

    for (name, bytes) in cases {
        for aside in desk.damaged_copies() {
            std::fs::remove_file(aside).unwrap();
        }
        std::fs::write(desk.paths().database(), &bytes).unwrap();

        let opened = desk.open(at(30));

        let aside = desk.damaged_copies();
        match (&aside[..], desk.texts(&opened)) {
            ([aside], _) => {
                assert_eq!(std::fs::read(aside).unwrap(), bytes, "{name}: kept as it was found");
                assert!(opened.notices.iter().any(|n| n.contains("the journal was damaged")), "{name}");
            }
            // Damage that the first check does not find either is harmless or causes a read error.
            ([], Ok(heard)) => assert_eq!(heard.len(), 40, "{name}: nothing vanished silently"),
            ([], Err(_)) => {}
            (more, _) => panic!("{name}: {more:?}"),
        }
    }
}

#[test]
fn a_journal_of_a_later_version_is_not_changed() {
    let desk = TestJournal::new();
    desk.say(&["one"]);
    let later = rusqlite::Connection::open(desk.paths().database()).unwrap();
    let known: i64 = later.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    later.pragma_update(None, "user_version", 99).unwrap();
    later.close().unwrap();
    let before = std::fs::read(desk.paths().database()).unwrap();

    let Err(OpenError::Unusable(text)) = desk.try_open(at(20)) else { panic!("it was opened") };

    let expected = format!(
        "the journal has format 99 and this version of ollim-bot knows up to {known}. update ollim-bot; \
         nothing was changed."
    );
    assert_eq!(text, expected);
    assert_eq!(std::fs::read(desk.paths().database()).unwrap(), before);
}

/// SE-2, SE-6: an existing session id becomes the session of main, without an entry in the history.
#[test]
fn a_session_of_an_older_program_is_adopted() {
    let desk = TestJournal::new();
    std::fs::create_dir_all(desk.paths().state()).unwrap();
    std::fs::write(desk.paths().state().join("sessions.json"), "  5f0c77aa-old \n").unwrap();

    let opened = desk.open(at(1));

    let head = opened.state.conversation.head(&Branch::Main).unwrap();
    assert_eq!((head.session.as_str(), head.entry), ("5f0c77aa-old", None));
    assert!(!desk.paths().state().join("session_history.jsonl").exists());
    assert_eq!(
        std::fs::read_to_string(desk.paths().state().join("sessions.json")).unwrap(),
        "  5f0c77aa-old \n"
    );
}

/// SE-2: a session file that is missing or names another session is not damage; the assistant
/// starts a new session.
#[test]
fn a_missing_session_file_is_not_damage() {
    let desk = TestJournal::new();
    desk.say(&["one"]);
    let file = desk.paths().state().join("sessions.json");
    for content in [None, Some("somebody-else")] {
        match content {
            None => std::fs::remove_file(&file).unwrap(),
            Some(text) => std::fs::write(&file, text).unwrap(),
        }
        let opened = desk.open(at(5));
        assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), content);
        assert_eq!(opened.notices, [""; 0]);
    }
    let history = std::fs::read_to_string(desk.paths().state().join("session_history.jsonl")).unwrap();
    assert_eq!(history.lines().count(), 1);
}
