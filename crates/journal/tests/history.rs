//! The session history is preserved, whatever happens to its file.
#![expect(clippy::unwrap_used, reason = "data created by the test is readable")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::conversation::SessionId;
use domain::rng::Rng;
use domain::schedule::Moment;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use journal::disk::Disk;
use journal::files::session_history::{AppendOutcome, EventKind, SessionEvent, SessionHistory};
use testkit::disk::MemoryDisk;

const FILE: &str = "/data/state/session_history.jsonl";

fn now() -> Timestamp {
    "2026-03-05T17:00:00Z".parse().unwrap()
}

fn open(disk: &Arc<MemoryDisk>) -> SessionHistory {
    SessionHistory::open(disk.clone(), Path::new("/data/state"), now()).unwrap().value
}

fn event(n: usize) -> SessionEvent {
    let at = Timestamp::from_microsecond(1_772_816_440_000_000 + n as i64 * 60_000_012).unwrap();
    SessionEvent {
        session: SessionId::parse(&format!("5f0c0000-{n:04}")).unwrap(),
        kind: EventKind::ALL[n % EventKind::ALL.len()],
        at: Moment::of(&at.to_zoned(TimeZone::get("America/Los_Angeles").unwrap())),
        parent: (n % 2 == 1).then(|| SessionId::parse("77aa").unwrap()),
    }
}

/// A history of `count` events, and its bytes.
fn history_of(count: usize) -> (Vec<SessionEvent>, Vec<u8>) {
    let disk = Arc::new(MemoryDisk::default());
    let mut history = open(&disk);
    let events: Vec<SessionEvent> = (0..count).map(event).collect();
    for event in &events {
        assert_eq!(history.append(event).unwrap(), AppendOutcome::Added);
    }
    (events, disk.read(Path::new(FILE)).unwrap())
}

fn damaged_copy(disk: &MemoryDisk) -> Option<(PathBuf, Vec<u8>)> {
    disk.files().into_iter().find(|(path, _)| path.to_string_lossy().contains(".corrupt-"))
}

/// DD-7, DD-18, DD-50, SE-8: each event is one JSON object per line with all four keys.
#[test]
fn each_event_is_one_line_with_four_keys() {
    let (events, bytes) = history_of(9);
    let text = String::from_utf8(bytes).unwrap();
    let first = r#"{"session_id":"5f0c0000-0000","event":"created","timestamp":"2026-03-06T09:00:40.000000-08:00","parent_session_id":null}"#;
    assert_eq!(text.lines().next().unwrap(), first);
    assert_eq!(text.lines().count(), 9);
    assert!(text.ends_with('\n'));
    for name in ["created", "compacted", "swapped", "cleared", "interactive_fork", "bg_fork"] {
        assert!(text.contains(&format!(r#""event":"{name}""#)), "{name}");
    }
    for name in ["isolated_bg", "persistent_bg", "restarting"] {
        assert!(text.contains(&format!(r#""event":"{name}""#)), "{name}");
    }
    assert_eq!(events[1].commit_message(), "session compacted: 5f0c0000");
}

/// SE-12, DD-18: blank and malformed lines are skipped and counted; spacing and keys of other
/// programs are accepted.
#[test]
fn unreadable_lines_are_skipped_and_counted() {
    let disk = Arc::new(MemoryDisk::default());
    let line = |event: &str, at: &str| {
        format!(
            "{{\"session_id\": \"5f0c\", \"event\": \"{event}\", \"timestamp\": \"{at}\", \"parent_session_id\": null, \"more\": 1}}\n"
        )
    };
    let text = [
        line("created", "2026-03-05T08:00:01.000012-08:00"),
        "\n   \nnot json\n{\"session_id\": \"5f0c\"}\n[1]\n".to_owned(),
        line("invented", "2026-03-05T08:00:01-08:00"),
        line("swapped", "yesterday"),
        line("cleared", "2026-03-05T16:00:01Z"),
    ];
    disk.put(FILE, text.concat().as_bytes());
    let told = open(&disk).read_all().unwrap();
    let kinds: Vec<EventKind> = told.events.iter().map(|event| event.kind).collect();
    assert_eq!((kinds, told.skipped), (vec![EventKind::Created, EventKind::Cleared], 5));
}

/// SE-12: the age is that of the newest creation, however old, and unknown without one.
#[test]
fn the_age_is_that_of_the_newest_creation() {
    let disk = Arc::new(MemoryDisk::default());
    assert_eq!(open(&disk).main_session_age(now()).unwrap(), None);
    let mut history = open(&disk);
    let created = |n: usize| SessionEvent { kind: EventKind::Created, ..event(n) };
    history.append(&created(1)).unwrap();
    history.append(&created(2)).unwrap();
    for n in 3..600 {
        history.append(&SessionEvent { kind: EventKind::BgFork, ..event(n) }).unwrap();
    }
    let later = event(2).at.at + SignedDuration::from_hours(5);
    assert_eq!(history.main_session_age(later).unwrap(), Some(SignedDuration::from_hours(5)));
}

/// DD-7: an event that is appended again after a crash is stored once; one that recurs later is
/// stored twice.
#[test]
fn an_event_appended_again_after_a_crash_is_stored_once() {
    let disk = Arc::new(MemoryDisk::default());
    let mut history = open(&disk);
    history.append(&event(1)).unwrap();
    history.append(&event(2)).unwrap();
    assert_eq!(history.append(&event(1)).unwrap(), AppendOutcome::Duplicate);
    assert_eq!(history.read_all().unwrap().events, [event(1), event(2)]);
    for n in 3..20 {
        history.append(&event(n)).unwrap();
    }
    assert_eq!(history.append(&event(1)).unwrap(), AppendOutcome::Added);
}

/// B2, DD-7: with the file truncated at any byte no complete line is lost, nothing is rewritten,
/// and the rest is saved to another file.
#[test]
fn a_truncated_history_keeps_every_complete_line() {
    let (events, whole) = history_of(1_000);
    for cut in 0..=whole.len() {
        let disk = Arc::new(MemoryDisk::default());
        disk.put(FILE, &whole[..cut]);
        let found = SessionHistory::open(disk.clone(), Path::new("/data/state"), now()).unwrap();
        let lines = whole[..cut].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let torn = &whole[lines..cut];
        let is_whole = whole.get(cut) == Some(&b'\n') && !torn.is_empty();
        let after = disk.read(Path::new(FILE)).unwrap();
        assert!(after.starts_with(&whole[..cut]), "{cut}: rewritten");
        assert_eq!(&after[cut..], if torn.is_empty() { b"".as_slice() } else { b"\n" }, "{cut}");
        match found.damage {
            None => assert!(torn.is_empty() || is_whole, "{cut}: not told"),
            Some(damage) => assert_eq!(damaged_copy(&disk), Some((damage.kept_as, torn.to_vec())), "{cut}"),
        }
        if cut % 1_511 == 0 || is_whole && cut % 7 == 0 {
            let kept = after.iter().filter(|byte| **byte == b'\n').count()
                - usize::from(!torn.is_empty() && !is_whole);
            assert_eq!(found.value.read_all().unwrap().events, events[..kept], "{cut}");
        }
    }
}

/// B2: after a truncation anywhere the next event is a complete line.
#[test]
fn after_a_truncation_the_next_event_is_a_complete_line() {
    let (events, whole) = history_of(3);
    for cut in 0..=whole.len() {
        let disk = Arc::new(MemoryDisk::default());
        disk.put(FILE, &whole[..cut]);
        let mut history = open(&disk);
        history.append(&event(9)).unwrap();
        let told = history.read_all().unwrap();
        let kept = told.events.len() - 1;
        assert_eq!((&told.events[..kept], &told.events[kept]), (&events[..kept], &event(9)), "{cut}");
        assert!(told.skipped <= 1 && damaged_copy(&disk).is_some() == (told.skipped == 1), "{cut}");
    }
}

/// B2: a very long incomplete line is saved whole.
#[test]
fn a_very_long_incomplete_line_is_saved_whole() {
    let (events, mut bytes) = history_of(3);
    let torn: Vec<u8> = std::iter::repeat_n(*b"{\"session_id\"", 9_000).flatten().collect();
    bytes.extend_from_slice(&torn);
    let disk = Arc::new(MemoryDisk::default());
    disk.put(FILE, &bytes);
    let told = open(&disk).read_all().unwrap();
    assert_eq!((told.events, told.skipped), (events, 1));
    assert_eq!(damaged_copy(&disk).unwrap().1, torn);
}

/// B2: 10,000 flipped bits, twenty at a time: all lines without a flipped bit are read, in order.
#[test]
fn flipped_bits_affect_only_their_own_lines() {
    let (events, whole) = history_of(1_000);
    let starts: Vec<usize> = std::iter::once(0)
        .chain(whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1))
        .collect();
    let mut dice = Rng::new(7);
    for _ in 0..500 {
        let mut bytes = whole.clone();
        let mut harmed = std::collections::BTreeSet::new();
        for _ in 0..20 {
            let at = usize::try_from(dice.next_u64()).unwrap() % bytes.len();
            bytes[at] ^= 1 << (dice.next_u64() % 8);
            let line = starts.partition_point(|start| *start <= at) - 1;
            harmed.insert(line);
            if whole[at] == b'\n' {
                harmed.insert(line + 1);
            }
        }
        let disk = Arc::new(MemoryDisk::default());
        disk.put(FILE, &bytes);
        let told = open(&disk).read_all().unwrap();
        let mut told_in_order = told.events.iter();
        for (n, event) in events.iter().enumerate().filter(|(n, _)| !harmed.contains(n)) {
            assert!(told_in_order.any(|told| told == event), "event {n} is gone");
        }
        assert!(told.skipped <= 2 * harmed.len());
    }
}

/// B5, B10: a directory in place of the history is moved away and reported.
#[test]
fn a_directory_in_place_of_the_history_is_moved_away() {
    let disk = Arc::new(MemoryDisk::default());
    disk.create_dir(Path::new(FILE)).unwrap();
    let found = SessionHistory::open(disk.clone(), Path::new("/data/state"), now()).unwrap();
    assert!(found.damage.unwrap().to_string().contains("not a plain file"));
    let mut history = found.value;
    history.append(&event(1)).unwrap();
    assert_eq!(history.read_all().unwrap().events, [event(1)]);
}
