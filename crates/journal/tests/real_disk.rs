//! File protocols on a real file system, including cases that only occur there.
#![expect(clippy::unwrap_used, reason = "a temporary directory can be written")]

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use domain::schedule::{ItemId, Reminder, Routine};
use jiff::tz::TimeZone;
use journal::disk::{self, Disk, FileKind, RealDisk};
use journal::files::items::ItemDirectory;
use journal::files::routine_sessions::RoutineSessions;
use testkit::disk::{DiskFault, FailingDisk, FaultDuration};

const GOOD: &[u8] = b"---\nid: good\ncron: 0 9 * * *\n---\nTriage.\n";

fn names(dir: &Path) -> Vec<String> {
    let listed = RealDisk.list(dir).unwrap().into_iter();
    let mut names: Vec<String> =
        listed.map(|name| name.path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// B10, DD-27: unusual files are reported, and all others are read.
#[test]
fn unusual_files_in_the_directory_do_not_affect_others() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join("routines");
    disk::replace(&RealDisk, &dir.join("m.md"), GOOD).unwrap();
    disk::replace(&RealDisk, &dir.join("empty.md"), b"").unwrap();
    disk::replace(&RealDisk, &dir.join("binary.md"), &[0xfe; 512]).unwrap();
    RealDisk.create_dir(&dir.join("x.md")).unwrap();
    symlink(data.path().join("nowhere"), dir.join("dangling.md")).unwrap();
    symlink(dir.join("loop.md"), dir.join("loop.md")).unwrap();
    let made = |program: &str, arguments: &[&str], name: &str| {
        Command::new(program).args(arguments).arg(dir.join(name)).status().unwrap();
    };
    made("mkfifo", &[], "pipe.md");
    made("truncate", &["-s", "50M"], "huge.md");

    let mut routines: ItemDirectory<Routine> =
        ItemDirectory::new(Arc::new(RealDisk), data.path(), TimeZone::UTC);
    let listing = routines.list().unwrap();
    assert_eq!(listing.items.len(), 1);
    let bad: Vec<String> = listing
        .bad
        .iter()
        .map(|bad| format!("{} {}", bad.path.file_name().unwrap().to_string_lossy(), bad.bad))
        .collect();
    let said = [
        ("binary.md", "UTF-8"),
        ("dangling.md", "leads nowhere"),
        ("empty.md", "no frontmatter"),
        ("huge.md", "larger than 1 MB"),
        ("loop.md", "cannot be read"),
        ("pipe.md", "not a plain file"),
        ("x.md", "directory"),
    ];
    assert_eq!(bad.len(), said.len(), "{bad:?}");
    for (bad, (name, said)) in bad.iter().zip(said) {
        assert!(bad.starts_with(name) && bad.contains(said), "{bad}");
    }
    assert_eq!(routines.find("good").unwrap(), Some(dir.join("m.md")));
    routines.remove(&dir.join("m.md")).unwrap();
}

/// DD-31: the name of a dangling link is not free, and the link stays.
#[test]
fn a_new_file_does_not_take_the_name_of_a_link() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join("reminders");
    RealDisk.create_dir(&dir).unwrap();
    symlink("nowhere", dir.join("call.md")).unwrap();
    let text = "---\nid: r1\nrun-at: 2026-03-05T14:00:00Z\n---\nCall.\n";
    let reminder = <Reminder as journal::files::items::Item>::read(text, &TimeZone::UTC).unwrap();
    let mut reminders: ItemDirectory<Reminder> =
        ItemDirectory::new(Arc::new(RealDisk), data.path(), TimeZone::UTC);
    assert_eq!(reminders.add(&reminder).unwrap(), dir.join("call-2.md"));
    assert_eq!(names(&dir), ["call-2.md", "call.md"]);
}

/// DD-31, B7: a new file gets another name if its name is taken, even if the id is a duplicate.
#[test]
fn a_new_file_replaces_no_other() {
    let data = tempfile::tempdir().unwrap();
    let text = "---\nid: r1\nrun-at: 2026-03-05T14:00:00Z\n---\nCall.\n";
    let reminder = <Reminder as journal::files::items::Item>::read(text, &TimeZone::UTC).unwrap();
    let mut reminders: ItemDirectory<Reminder> =
        ItemDirectory::new(Arc::new(RealDisk), data.path(), TimeZone::UTC);
    for _ in 0..3 {
        reminders.add(&reminder).unwrap();
    }
    assert_eq!(names(&data.path().join("reminders")), ["call-2.md", "call-3.md", "call.md"]);
}

/// DD-4, DD-5, DD-6: directories are created, no temporary file is left, and only the owner has
/// access.
#[test]
fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("a/b/c.json");
    for content in [b"one".as_slice(), b"two"] {
        disk::replace(&RealDisk, &path, content).unwrap();
        assert_eq!(RealDisk.read(&path).unwrap(), content);
    }
    assert_eq!(names(path.parent().unwrap()), ["c.json"]);
    let mode = |path: &Path| path.symlink_metadata().unwrap().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));

    let taken = data.path().join("taken");
    RealDisk.create_dir(&taken.join("inner")).unwrap();
    assert!(disk::replace(&RealDisk, &taken, b"x").is_err(), "a directory is not replaced");
    assert_eq!(names(data.path()), ["a", "taken"]);
}

/// DD-6, DD-10: the leftover of an interrupted write is not reused, ignored, and removed at the
/// next start.
#[test]
fn leftovers_of_a_crash_are_ignored_and_removed() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join("routine_sessions");
    disk::replace(&RealDisk, &dir.join("mail.0.tmp"), b"half").unwrap();
    let mut sessions = RoutineSessions::new(Arc::new(RealDisk), data.path());
    let mail = ItemId::parse("mail").unwrap();
    let id = domain::conversation::SessionId::parse("5f0c").unwrap();
    sessions.save(&mail, &id).unwrap();
    assert_eq!(names(&dir), ["mail", "mail.0.tmp"]);
    assert_eq!(disk::remove_leftovers(&RealDisk, &dir).unwrap(), 1);
    assert_eq!(disk::remove_leftovers(&RealDisk, &PathBuf::from("/nowhere")).unwrap(), 0);
    assert_eq!(names(&dir), ["mail"]);
}

/// DD-6, DD-10: in a directory with files of the user only leftovers of our own writes are removed,
/// with a single listing.
#[test]
fn only_our_leftovers_are_removed_next_to_files_of_the_user() {
    let data = tempfile::tempdir().unwrap();
    let ours = [".gitignore.0.tmp", ".gitignore.7.tmp", "NOTES.md.99.tmp"];
    let theirs = [".gitignore.07.tmp", ".gitignore.100.tmp", ".gitignore.x.tmp", "notes.tmp", "other.0.tmp"];
    for name in ours.iter().chain(&theirs) {
        RealDisk.create(&data.path().join(name), b"half").unwrap();
    }
    RealDisk.create_dir(&data.path().join("NOTES.md.0.tmp")).unwrap();
    let counting = FailingDisk::new(Arc::new(RealDisk), usize::MAX, DiskFault::Broken, FaultDuration::Once);
    disk::remove_leftovers_of(&counting, data.path(), &[".gitignore", "NOTES.md"]).unwrap();
    assert_eq!(names(data.path()), [&theirs[..3], &["NOTES.md.0.tmp"], &theirs[3..]].concat());
    assert_eq!(counting.calls(), 1 + ours.len());
}

/// B5: two files damaged within a second are both kept.
#[test]
fn damaged_files_are_never_overwritten() {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("config.json");
    let now = "2026-03-05T16:00:01Z".parse().unwrap();
    for content in [b"one", b"two"] {
        disk::replace(&RealDisk, &path, content).unwrap();
        disk::set_aside(&RealDisk, &path, now).unwrap();
    }
    assert_eq!(
        names(data.path()),
        ["config.json.corrupt-20260305T160001Z", "config.json.corrupt-20260305T160001Z-2"]
    );
    assert_eq!(RealDisk.file_kind(&path).unwrap(), None);
    assert_eq!(RealDisk.file_kind(data.path()).unwrap(), Some(FileKind::Directory));
}
