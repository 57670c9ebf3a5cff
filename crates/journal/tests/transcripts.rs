//! Import of conversations of the Python program from the transcripts of the Claude Code program.
#![expect(clippy::disallowed_methods, reason = "the test is the other program that wrote the transcripts")]
#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]

use std::path::Path;
use std::sync::Arc;

use domain::conversation::{Branch, Conversation, EntryContent, EntryId, SessionId, Text as _};
use domain::record::{Record, SessionChange};
use domain::sent_messages::{OriginLookup, SentId};
use engine::ports::Journal as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::disk::RealDisk;
use journal::transcripts::{self, TranscriptError};
use journal::{HistoryMode, OpenParams, OpenedJournal, Paths};
use serde_json::{Value, json};
use tempfile::TempDir;

const NOW: Timestamp = Timestamp::constant(1_794_700_000, 0);
const MAIN: &str = "5f0c77aa-1111-4222-8333-444455556666";
const OWN: &str = "a0b1c2d3-1111-4222-8333-444455556666";
const FORK: &str = "c3c3c3c3-1111-4222-8333-444455556666";

struct TestDirectory {
    dir: TempDir,
}

impl TestDirectory {
    fn new() -> Self {
        let house = Self { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(house.dir.path().join("data/state/routine_sessions")).unwrap();
        std::fs::create_dir_all(house.dir.path().join("data/routines")).unwrap();
        std::fs::create_dir_all(house.projects().join("-home-julius-bot")).unwrap();
        house
    }

    fn projects(&self) -> std::path::PathBuf {
        self.dir.path().join("claude/projects")
    }

    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.dir.path().join("data").join(name), text).unwrap();
    }

    fn transcript(&self, session: &str, lines: &[Value]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.raw(session, text.as_bytes());
    }

    fn raw(&self, session: &str, bytes: &[u8]) {
        std::fs::write(self.projects().join("-home-julius-bot").join(format!("{session}.jsonl")), bytes)
            .unwrap();
    }

    fn open(&self) -> OpenedJournal {
        let paths = Paths::new(self.dir.path().join("data"));
        let place = OpenParams { paths, disk: Arc::new(RealDisk), zone: TimeZone::UTC, now: NOW, pid: 1 };
        journal::open_with_import(place, HistoryMode::Git, Some(&self.projects())).unwrap()
    }

    fn read(&self, session: &str) -> Result<Vec<EntryContent>, TranscriptError> {
        let path = transcripts::find(&RealDisk, &self.projects(), &SessionId::parse(session).unwrap())?;
        Ok(transcripts::read(&RealDisk, &path)?.into_iter().map(|item| item.said).collect())
    }
}

fn user(uuid: &str, parent: Option<&str>, content: impl Into<Value>) -> Value {
    json!({"type": "user", "uuid": uuid, "parentUuid": parent, "isSidechain": false, "timestamp": "2026-03-05T09:00:00.000Z",
        "sessionId": MAIN, "message": {"role": "user", "content": content.into()}})
}

fn answer(uuid: &str, parent: &str, message: &str, block: Value) -> Value {
    json!({"type": "assistant", "uuid": uuid, "parentUuid": parent, "isSidechain": false, "timestamp": "2026-03-05T09:00:01.000Z",
        "sessionId": MAIN, "message": {"id": message, "role": "assistant", "model": "claude-sonnet-4-5", "content": [block]}})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn result(id: &str, text: &str) -> Value {
    json!([{"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": text}]}])
}

/// One line per entry, with its author.
fn entry_lines(said: &[EntryContent]) -> Vec<String> {
    let told = |said: &EntryContent| match said {
        EntryContent::User(heard) => format!("user: {}", heard.text),
        EntryContent::Assistant(blocks, _) => {
            let calls: Vec<&str> =
                domain::conversation::tool_calls(blocks).map(|call| call.name.as_str()).collect();
            format!("assistant: {} {calls:?}", said.text())
        }
        EntryContent::Tools(results) => {
            let results: Vec<String> = results
                .iter()
                .map(|result| format!("{}={} {}", result.call, result.text, result.label))
                .collect();
            format!("tools: {}", results.join(", "))
        }
        EntryContent::Summary(text) => format!("summary: {text}"),
        EntryContent::SummaryRecalled(_) => "recalled".to_owned(),
    };
    said.iter().map(told).collect()
}

/// The texts that a model reads on the path to `entry`.
fn path_text(opened: &OpenedJournal, entry: domain::conversation::EntryId) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let path = runtime.block_on(opened.journal.path(entry)).unwrap();
    path.iter().map(|entry| entry.content.text() + "\n").collect()
}

/// Our own sessions have no transcripts. If the journal is lost, there is only the notice about
/// that.
#[test]
fn a_lost_journal_is_not_reported_as_a_failed_import() {
    let house = TestDirectory::new();
    let opened = house.open();
    let session = SessionId::parse("0ff1ce00-1111-4222-8333-444455556666").unwrap();
    let mut conversation = Conversation::new(Default::default(), EntryId(1));
    let records = vec![
        Record::BranchMoved(conversation.create(Branch::Main, session.clone(), NOW)),
        Record::Session(SessionChange::Saved(session.clone(), NOW)),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(opened.journal.write(records)).unwrap();
    drop(opened);
    let state = house.dir.path().join("data/state");
    assert_eq!(std::fs::read_to_string(state.join("sessions.json")).unwrap().trim(), session.as_str());
    for end in ["db", "db-wal", "db-shm"] {
        let _ = std::fs::remove_file(state.join(format!("journal.{end}")));
    }
    let opened = house.open();
    let notices = opened.notices.join("\n");
    assert!(notices.contains("there was no backup"), "{notices}");
    assert!(!notices.contains("could not be imported"), "{notices}");
    opened.journal.remove_rescue_notices();
    drop(opened);
    assert_eq!(house.open().notices, Vec::<String>::new(), "nor is it at the next start");
}

/// Several calls in one answer, side chains, lines of the program itself, thinking, and linking
/// lines.
#[test]
fn a_transcript_is_read_as_a_conversation() {
    let house = TestDirectory::new();
    let side = json!({"type": "user", "uuid": "s1", "parentUuid": "u1", "isSidechain": true, "message": {"content": "of a subagent"}});
    let meta = json!({"type": "user", "uuid": "m1", "parentUuid": "a4", "isMeta": true, "message": {"content": "Caveat"}});
    let shell = user("m2", Some("m1"), "<local-command-stdout>Set model</local-command-stdout>");
    let attachment = json!({"type": "attachment", "uuid": "x1", "parentUuid": "m2"});
    let broken = json!({"type": "assistant", "uuid": "e1", "parentUuid": "u2", "message": {"model": "<synthetic>", "content": [text("API Error: 400")]}});
    house.transcript(
        MAIN,
        &[
            json!({"type": "queue-operation", "operation": "enqueue"}),
            user("u1", None, "look at both"),
            side,
            answer("a0", "u1", "msg1", json!({"type": "thinking", "thinking": "hm", "signature": "x"})),
            answer("a1", "a0", "msg1", text("I look.")),
            answer("a2", "a1", "msg1", call("t1", "WebFetch", json!({"url": "https://a.example"}))),
            answer("a3", "a2", "msg1", call("t2", "Read", json!({"file_path": "notes.md"}))),
            user("r1", Some("a2"), result("t1", "a page")),
            user("r2", Some("a3"), result("t2", "a note")),
            answer("a4", "r2", "msg2", text("Both are fine.")),
            meta,
            shell,
            attachment,
            user(
                "u2",
                Some("x1"),
                json!([{"type": "image", "source": {"data": "AAAA"}}, {"type": "text", "text": "and this?"}]),
            ),
            broken,
        ],
    );
    assert_eq!(
        entry_lines(&house.read(MAIN).unwrap()),
        [
            "user: look at both",
            "assistant: I look. [\"WebFetch\", \"Read\"]",
            "tools: t1=a page ;web, t2=a note files;files",
            "assistant: Both are fine. []",
            "user: [picture, not imported]\nand this?",
        ]
    );
}

/// A compaction becomes a summary, and the entries before it stay in the history.
#[test]
fn a_compaction_is_a_summary() {
    let house = TestDirectory::new();
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": null, "logicalParentUuid": "a1"});
    let mut summary = user("u2", Some("b1"), "The boat is called Marlin.");
    summary["isCompactSummary"] = json!(true);
    summary["isVisibleInTranscriptOnly"] = json!(true);
    house.transcript(
        MAIN,
        &[
            user("u1", None, "first words"),
            answer("a1", "u1", "msg1", text("Yes.")),
            boundary,
            summary,
            user("u3", Some("u2"), "and now?"),
        ],
    );
    let told = entry_lines(&house.read(MAIN).unwrap());
    assert_eq!(
        told,
        ["user: first words", "assistant: Yes. []", "summary: The boat is called Marlin.", "user: and now?"]
    );
}

/// Any content is read in bounded time and memory, and results in a conversation that a model
/// accepts.
#[test]
fn a_hostile_transcript_is_read_safely() {
    let house = TestDirectory::new();
    // A cycle, a line that is its own parent, a duplicate, and a result without a call.
    house.transcript(
        MAIN,
        &[
            user("u1", Some("u3"), "one"),
            user("u2", Some("u2"), "two"),
            user("u2", Some("u1"), "twin"),
            user("u3", Some("u2"), "three"),
            user("r1", Some("u3"), result("nothing", "of no call")),
            answer("a1", "r1", "m", call("t9", "Bash", json!("no object"))),
        ],
    );
    assert_eq!(
        entry_lines(&house.read(MAIN).unwrap()),
        [
            "user: one\n\ntwin\n\nthree",
            "assistant:  [\"Bash\"]",
            "tools: t9=No result was recorded. files;files"
        ]
    );
    // Ids and names that no provider accepts, and a duplicate id.
    house.transcript(
        MAIN,
        &[
            user("u1", None, "one"),
            answer("a1", "u1", "m1", call("t 1", "a tool!", json!({}))),
            user("r1", Some("a1"), result("t 1", "first")),
            answer("a2", "r1", "m2", call("t2", "Bash", json!({}))),
            answer("a3", "a2", "m3", call("t2", "Bash", json!({}))),
        ],
    );
    let calls = entry_lines(&house.read(MAIN).unwrap());
    assert_eq!(calls[1..3], ["assistant:  [\"a_tool_\"]", "tools: imported_0=first files;files"]);
    assert!(calls[4].starts_with("tools: t2=") && calls[6].starts_with("tools: imported_2="), "{calls:?}");
    // A conversation that begins with an answer gets a summary before it.
    house.transcript(MAIN, &[answer("a1", "gone", "m", text("Yes.")), user("u1", Some("a1"), "more")]);
    assert!(entry_lines(&house.read(MAIN).unwrap())[0].starts_with("summary: "));
    // Long texts are truncated, and a model reads only the newest part.
    let mut lines = vec![user("u0", None, "x".repeat(2_000_000))];
    for n in 0..60 {
        let uuid = format!("u{}", n + 1);
        let parent = format!("u{n}");
        lines.push(answer(&format!("a{n}"), &parent, &format!("m{n}"), text(&"y".repeat(20_000))));
        lines.push(user(&uuid, Some(&format!("a{n}")), format!("question {n}")));
    }
    house.transcript(MAIN, &lines);
    let read = house.read(MAIN).unwrap();
    let summary = read.iter().position(|said| matches!(said, EntryContent::Summary(_))).unwrap();
    let length: usize = read[summary..].iter().map(|said| said.text().len()).sum();
    assert!(length < 450_000 && read[0].text().len() < 110_000, "{length}");
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for bytes in [&b"\xff\xfe\x00{"[..], b"", b"null\n[]\n7\n{}\n", nested.as_bytes()] {
        house.raw(MAIN, bytes);
        assert!(matches!(house.read(MAIN), Err(TranscriptError::Empty { .. })));
    }
    for id in ["../../secret", "a/b", "..", "a b"] {
        assert_eq!(house.read(id), Err(TranscriptError::BadName), "{id}");
    }
}

/// The main session, that of a persistent routine and a run that a reply continues are imported
/// once, at the first start.
#[test]
fn the_stored_sessions_are_imported_once() {
    let house = TestDirectory::new();
    house.put("state/sessions.json", MAIN);
    house.put("state/routine_sessions/mail", OWN);
    house.put(
        "routines/mail.md",
        "---\nid: mail\ncron: \"0 9 * * *\"\nbackground: true\nsession: persistent\n---\nmail\n",
    );
    let new = NOW.as_second() - 3_600;
    let old = NOW.as_second() - 8 * 24 * 3_600;
    let sent = json!([
        {"message_id": 1_200_000_000_000_000_001_u64, "fork_session_id": FORK, "parent_session_id": MAIN, "ts": f64::from(i32::try_from(new).unwrap())},
        {"message_id": 1_100_000_000_000_000_001_u64, "fork_session_id": FORK, "parent_session_id": MAIN, "ts": f64::from(i32::try_from(old).unwrap())},
    ]);
    house.put("state/fork_messages.json", &sent.to_string());
    let main = [user("u1", None, "the boat is called Marlin"), answer("a1", "u1", "m1", text("Noted."))];
    house.transcript(MAIN, &main);
    house.transcript(OWN, &[user("o1", None, "run"), answer("o2", "o1", "m2", text("The price was 12."))]);
    let fork = [user("f1", Some("a1"), "look at the mail"), answer("f2", "f1", "m3", text("Anna wrote."))];
    house.transcript(FORK, &[&main[..], &fork[..]].concat());

    let opened = house.open();
    let head = opened.state.conversation.head(&Branch::Main).cloned().unwrap();
    assert_eq!(head.session, SessionId::parse(MAIN).unwrap());
    assert_eq!(path_text(&opened, head.entry.unwrap()), "the boat is called Marlin\nNoted.\n");
    let stand = opened.state.plans.sessions.values().next().unwrap();
    assert_eq!(stand.session, SessionId::parse(OWN).unwrap());
    assert_eq!(path_text(&opened, stand.entry), "run\nThe price was 12.\n");
    let sent = &opened.state.messages.sent;
    let OriginLookup::Live(_, end) = sent.origin(SentId(1_200_000_000_000_000_001), NOW) else {
        panic!("{sent:?}")
    };
    assert_eq!(end.root, head.entry);
    let all = "the boat is called Marlin\nNoted.\nlook at the mail\nAnna wrote.\n";
    assert_eq!(path_text(&opened, end.entry), all);
    assert_eq!(sent.origin(SentId(1_100_000_000_000_000_001), NOW), OriginLookup::Unknown);
    assert!(opened.notices.iter().any(|notice| notice.contains("imported")), "{:?}", opened.notices);
    let said = opened.state.conversation.clone();
    drop(opened);
    let kept = |name: &str| std::fs::read_to_string(house.dir.path().join("data/state").join(name)).unwrap();
    assert_eq!((kept("sessions.json"), kept("routine_sessions/mail")), (MAIN.to_owned(), OWN.to_owned()));
    let file: Value = serde_json::from_str(&kept("fork_messages.json")).unwrap();
    assert_eq!(file.as_array().unwrap().len(), 1, "{file}");

    let again = house.open();
    assert_eq!(again.state.conversation.head(&Branch::Main), said.head(&Branch::Main));
    assert!(!again.notices.iter().any(|notice| notice.contains("imported")), "{:?}", again.notices);
    assert!(matches!(
        again.state.messages.sent.origin(SentId(1_200_000_000_000_000_001), NOW),
        OriginLookup::Live(..)
    ));
}

/// Without a transcript the user is notified once where it was searched, and nothing is replaced.
#[test]
fn a_failed_import_is_reported_once() {
    let house = TestDirectory::new();
    house.put("state/sessions.json", MAIN);
    house.put("state/routine_sessions/mail", OWN);
    house.put(
        "routines/mail.md",
        "---\nid: mail\ncron: \"0 9 * * *\"\nbackground: true\nsession: persistent\n---\nmail\n",
    );
    let opened = house.open();
    let about = |id: &str| opened.notices.iter().filter(|notice| notice.contains(id)).count();
    assert_eq!((about(MAIN), about(OWN)), (1, 1), "{:?}", opened.notices);
    assert!(opened.notices.iter().all(|notice| notice.contains(house.projects().to_str().unwrap())));
    drop(opened);
    let opened = house.open();
    assert_eq!(opened.notices, [""; 0]);
    let file = house.dir.path().join("data/state/routine_sessions/mail");
    assert_eq!(std::fs::read_to_string(file).unwrap(), OWN);
    drop(opened);
    // The transcript exists at a later start.
    house.transcript(MAIN, &[user("u1", None, "the boat is called Marlin")]);
    let opened = house.open();
    let head = opened.state.conversation.head(&Branch::Main).unwrap();
    assert!(path_text(&opened, head.entry.unwrap()).contains("Marlin"));
    assert!(Path::new(&house.dir.path().join("data/state/sessions.json")).exists());
}
