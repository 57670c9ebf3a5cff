//! A damaged state file is kept and reported, and the daemon continues.
#![expect(clippy::unwrap_used, reason = "data created by the test is readable")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::conversation::SessionId;
use domain::ping_budget::PingBudget;
use domain::rng::Rng;
use domain::schedule::{ItemId, Moment};
use domain::sent_messages::{MessageOrigin, SentId, StoredPrompt, StoredPromptId};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use journal::disk::Disk;
use journal::files::config::{Config, ConfigFile};
use journal::files::fork_messages::ForkMessages;
use journal::files::inquiries::InquiriesFile;
use journal::files::pending_updates::{FileUpdate, PendingUpdatesFile};
use journal::files::ping_budget::PingBudgetFile;
use journal::files::routine_sessions::RoutineSessions;
use journal::files::session_history::SessionHistory;
use journal::files::sessions::{MainSessionFile, SaveReason};
use journal::files::{Damage, FileError};
use testkit::disk::{DiskFault, FailingDisk, FaultDuration, MemoryDisk};

type Shared = Arc<dyn Disk>;

/// A kind of file: how it is read and written, and its usual content.
struct FileKindCase {
    name: &'static str,
    valid_content: &'static str,
    read: fn(Shared) -> Result<Option<Damage>, FileError>,
    write: fn(Shared) -> Result<(), FileError>,
}

fn state() -> &'static Path {
    Path::new("/data/state")
}

fn now() -> Zoned {
    "2026-03-05T08:00:01[America/Los_Angeles]".parse().unwrap()
}

fn at() -> Timestamp {
    now().timestamp()
}

fn id() -> SessionId {
    SessionId::parse("5f0c").unwrap()
}

fn mail() -> ItemId {
    ItemId::parse("mail").unwrap()
}

fn save_main(disk: Shared) -> Result<(), FileError> {
    let mut history = SessionHistory::open(disk.clone(), state(), at())?.value;
    MainSessionFile::new(disk, state()).save(&id(), SaveReason::AfterTurn, &mut history, &now())
}

fn sent() -> MessageOrigin {
    MessageOrigin { id: SentId(1), session: id(), parent: None, at: at(), end: None }
}

fn inquiry() -> StoredPrompt {
    StoredPrompt {
        id: StoredPromptId("2a1b2c3d".to_owned()),
        prompt: "x".to_owned(),
        at: at(),
        label: domain::label::Label::PLAIN,
    }
}

fn kinds() -> Vec<FileKindCase> {
    vec![
        FileKindCase {
            name: "sessions.json",
            valid_content: "5f0c0000-0000-4000-8000-000000000001",
            read: |disk| Ok(MainSessionFile::new(disk, state()).load(at())?.damage),
            write: save_main,
        },
        FileKindCase {
            name: "routine_sessions/mail",
            valid_content: "5f0c0000-0000-4000-8000-000000000001",
            read: |disk| Ok(RoutineSessions::new(disk, state()).load(&mail(), at())?.damage),
            write: |disk| RoutineSessions::new(disk, state()).save(&mail(), &id()),
        },
        FileKindCase {
            name: "pending_updates.json",
            valid_content: r#"[{"ts": "2026-03-05T12:31:00.402133-08:00", "message": "two mails"}, {"ts": "2026-03-05T12:32:00-08:00", "message": "x", "more": [1]}]"#,
            read: |disk| Ok(PendingUpdatesFile::new(disk, state()).load(at())?.damage),
            write: |disk| {
                let update = FileUpdate::new(Moment::of(&now()), "new".to_owned());
                PendingUpdatesFile::new(disk, state()).append(update, at()).map(|_| ())
            },
        },
        FileKindCase {
            name: "fork_messages.json",
            valid_content: r#"[{"message_id": 1340012345678901234, "fork_session_id": "9d1e", "parent_session_id": null, "ts": 1772816440.55}]"#,
            read: |disk| Ok(ForkMessages::new(disk, state()).load(at())?.damage),
            write: |disk| ForkMessages::new(disk, state()).replace(&[sent()]).map(drop),
        },
        FileKindCase {
            name: "inquiries.json",
            valid_content: r#"{"0a1b2c3d": {"prompt": "what now?", "ts": 1772816440.55}, "1a1b2c3d": {"prompt": "x", "ts": 1.0}}"#,
            read: |disk| Ok(InquiriesFile::new(disk, state()).load(at())?.damage),
            write: |disk| InquiriesFile::new(disk, state()).replace(&[inquiry()]),
        },
        FileKindCase {
            name: "ping_budget.json",
            valid_content: r#"{"capacity": 5, "available": 2.5, "refill_rate_minutes": 90, "last_refill": "2026-03-05T08:00:00-08:00", "critical_used": 0, "critical_reset_date": "2026-03-05", "daily_used": 3, "daily_used_reset": "2026-03-05"}"#,
            read: |disk| Ok(PingBudgetFile::new(disk, state(), TimeZone::UTC).load(at())?.damage),
            write: |disk| PingBudgetFile::new(disk, state(), TimeZone::UTC).save(&PingBudget::full(&now())),
        },
        FileKindCase {
            name: "config.json",
            valid_content: r#"{"model_main": "opus", "thinking_main": true, "bg_fork_timeout": 60, "auto_update": false, "later": {"a": 1}}"#,
            read: |disk| Ok(ConfigFile::new(disk, state()).load(at())?.damage),
            write: |disk| ConfigFile::new(disk, state()).save(&Config::default()),
        },
    ]
}

/// Sixty variants of a damaged file.
fn damaged_variants(usual: &str) -> Vec<Vec<u8>> {
    let bytes = usual.as_bytes();
    let mut all: Vec<Vec<u8>> = (0..20).map(|n| bytes[..bytes.len() * n / 20].to_vec()).collect();
    let mut dice = Rng::new(usual.len() as u64);
    for n in 0..15 {
        let mut flipped = bytes.to_vec();
        let at = usize::try_from(dice.next_u64()).unwrap() % flipped.len();
        flipped[at] = [0xff, 0, b'"', b'{', b'9'][n % 5];
        all.push(flipped);
    }
    let deep = "[".repeat(100_000);
    let wrong = [
        " \n",
        "null",
        "true",
        "17",
        "-1e999",
        "\"words\"",
        "[]",
        "{}",
        "[[]]",
        "[null]",
        "{\"a\": 1}",
        "[{}]",
        "{\"version\": 99}",
        "[1, 2]",
        "]",
        "not json at all",
        "\u{feff}",
        "\0\0\0\0",
        deep.as_str(),
    ];
    all.extend(wrong.map(|text| text.as_bytes().to_vec()));
    let random = (0..4).map(|_| (0..64).flat_map(|_| dice.next_u64().to_le_bytes()).collect::<Vec<u8>>());
    all.extend(random);
    all.push([bytes, b"trailing"].concat());
    all.push([bytes, bytes].concat());
    all.push(usual.replace("ts", "tz").into_bytes());
    all.push(usual.replace(": ", ": [").into_bytes());
    all
}

fn paths_with_content(disk: &MemoryDisk, bytes: &[u8]) -> Vec<PathBuf> {
    disk.files().into_iter().filter(|(_, found)| found == bytes).map(|(path, _)| path).collect()
}

/// Returns whether another program would find a valid content in the file.
fn is_valid_content(kind: &FileKindCase, bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let json = serde_json::from_str::<serde_json::Value>(text);
    match kind.valid_content.chars().next() {
        Some('[') => json.is_ok_and(|json| json.is_array()),
        Some('{') => json.is_ok_and(|json| json.is_object()),
        Some(_) | None => {
            let text = text.trim();
            !text.is_empty() && !text.starts_with('{') && !text.contains(char::is_control)
        }
    }
}

fn check_damaged_file(kind: &FileKindCase, spoiled: &[u8]) {
    let disk = Arc::new(MemoryDisk::default());
    let path = state().join(kind.name);
    disk.put(&path, spoiled);
    let shown = String::from_utf8_lossy(spoiled).chars().take(60).collect::<String>();
    let damage = (kind.read)(disk.clone()).unwrap();
    let kept_before = paths_with_content(&disk, spoiled);
    assert!(
        damage.is_some() || is_valid_content(kind, spoiled),
        "{}: {shown:?} was taken for nothing",
        kind.name
    );
    match &damage {
        None => assert_eq!(
            kept_before,
            std::slice::from_ref(&path),
            "{}: {shown:?} was reset in silence",
            kind.name
        ),
        Some(damage) => {
            let beside = format!("{}.corrupt-20260305T160001Z", path.display());
            assert_eq!(
                (damage.path.as_path(), damage.kept_as.as_path()),
                (path.as_path(), Path::new(&beside))
            );
            assert!(kept_before.contains(&damage.kept_as), "{}: {shown:?}", kind.name);
            assert!(damage.to_string().contains("was damaged"), "{damage}");
        }
    }
    assert_eq!((kind.read)(disk.clone()).unwrap(), None, "{}: {shown:?} is told of twice", kind.name);
    (kind.write)(disk.clone()).unwrap();
    assert_eq!((kind.read)(disk.clone()).unwrap(), None);
    assert!(damage.is_none() || !paths_with_content(&disk, spoiled).is_empty());
}

/// B5, DD-56: any content of a state file is read, or kept under another name and reported once;
/// never reset silently.
#[test]
fn a_damaged_file_is_kept_and_reported_once() {
    for kind in kinds() {
        let spoiled = damaged_variants(kind.valid_content);
        assert!(spoiled.len() >= 50);
        for bytes in &spoiled {
            check_damaged_file(&kind, bytes);
        }
    }
}

/// B5: the readable part of a damaged list is preserved.
#[test]
fn the_readable_part_of_a_damaged_list_is_preserved() {
    let disk = Arc::new(MemoryDisk::default());
    let text = r#"[{"ts": "2026-03-05T12:31:00-08:00", "message": "a"}, {"ts": 5}, {"ts": "2026-03-05T12:32:00-08:00", "message": "b"}]"#;
    disk.put("/data/state/pending_updates.json", text.as_bytes());
    for told in [true, false] {
        let found = PendingUpdatesFile::new(disk.clone(), state()).load(at()).unwrap();
        let messages: Vec<&str> = found.value.iter().map(|update| update.message.as_str()).collect();
        assert_eq!((messages, found.damage.is_some()), (vec!["a", "b"], told));
    }
    assert_eq!(paths_with_content(&disk, text.as_bytes()).len(), 1);
}

/// B5, DD-3: an unreadable file is an error and is not touched; a missing one is empty.
#[test]
fn an_unreadable_file_is_not_treated_as_empty() {
    for kind in kinds() {
        let memory = Arc::new(MemoryDisk::default());
        assert_eq!((kind.read)(memory.clone()).unwrap(), None, "{}", kind.name);
        memory.put(state().join(kind.name), kind.valid_content.as_bytes());
        let before = memory.files();
        for call in 0..2 {
            let broken =
                Arc::new(FailingDisk::new(memory.clone(), call, DiskFault::Broken, FaultDuration::Forever));
            let trouble = (kind.read)(broken).unwrap_err().to_string();
            assert!(trouble.contains("cannot read") && trouble.contains(kind.name), "{trouble}");
        }
        assert_eq!(memory.files(), before);
    }
}

/// B5, B10: a directory or a huge file in place of a state file is set aside without being read.
#[test]
fn a_directory_or_a_huge_file_in_the_place_of_a_state_file_is_set_aside() {
    for kind in kinds() {
        let disk = Arc::new(MemoryDisk::default());
        disk.create_dir(&state().join(kind.name)).unwrap();
        let damage = (kind.read)(disk.clone()).unwrap().unwrap();
        assert!(damage.reason.contains("directory"), "{damage}");
        disk.put(state().join(kind.name), &vec![b' '; 17 << 20]);
        let damage = (kind.read)(disk.clone()).unwrap().unwrap();
        assert!(damage.reason.contains("larger than 16 MB"), "{damage}");
        (kind.write)(disk).unwrap();
    }
}
