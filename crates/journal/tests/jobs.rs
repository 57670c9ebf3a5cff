//! The job file scanner: its news while files change.

mod desk;
mod shelves;

use std::path::Path;
use std::sync::Arc;

use desk::Desk;
use domain::schedule::FileNews;
use expect_test::{Expect, expect};
use jiff::tz::TimeZone;
use journal::Paths;
use journal::disk::Disk;
use journal::jobs::JobBook;
use shelves::{good, told};
use testkit::disk::{FailingDisk, Fault, Lasting};

/// Compares the news of a scan, one line each.
fn check(news: &[FileNews], expected: Expect) {
    expected.assert_eq(&told(news));
}

/// SC-1, SC-2, DD-26: the first scan reports everything, the second one nothing.
#[test]
fn the_first_look_tells_everything_that_is_planned() {
    let mut desk = Desk::new();
    desk.write("routines/mail.md", &good("mail", "Triage."));
    desk.write("reminders/call.md", "---\nid: call\nrun-at: 2026-11-20T09:00:00Z\n---\nCall mum.\n");
    desk.write("routines/notes.txt", "not ours");
    desk.write("routines/.#mail.md", "an editor's lock");
    check(
        &desk.look(),
        expect![[r#"
        plans routine:mail as routines/mail.md: Triage.
        plans reminder:call as reminders/call.md: Call mum."#]],
    );
    check(&desk.look(), expect![""]);
    assert_eq!(desk.book.planned().count(), 2);
}

/// SC-3, RP-29: an edit applies at once, and a file that becomes invalid keeps its last valid plan.
#[test]
fn a_file_that_turns_invalid_keeps_what_it_planned() {
    let mut desk = Desk::new();
    desk.write("routines/mail.md", &good("mail", "Triage."));
    desk.look();
    desk.write("routines/mail.md", &good("mail", "Triage, and answer Tom."));
    check(&desk.look(), expect!["plans routine:mail as routines/mail.md: Triage, and answer Tom."]);
    desk.write("routines/mail.md", "---\nid: mail\ncron: never\n---\nTriage.\n");
    check(
        &desk.settled(),
        expect![[r#"
        broken routines/mail.md (routine:mail): line 3: `cron`: "never" does not have five fields (1 found); write them as: minute, hour, day, month, weekday, like `0 9 * * 1-5`"#]],
    );
    check(&desk.settled(), expect![""]);
    desk.touch("routines/mail.md");
    check(&desk.settled(), expect![""]);
    desk.write("routines/mail.md", "---\nid: mail\ncron: never\n---\nTriage!\n");
    assert!(told(&desk.settled()).starts_with("broken routines/mail.md"));
    assert_eq!(desk.words("mail").as_deref(), Some("Triage, and answer Tom."));
    desk.write("routines/mail.md", &good("mail", "Triage."));
    check(
        &desk.look(),
        expect![[r#"
        mended routines/mail.md
        plans routine:mail as routines/mail.md: Triage."#]],
    );
}

/// A file that is written slowly, with pauses, is reported only if it is still invalid two seconds
/// after the last write.
#[test]
fn a_file_that_is_written_slowly_is_not_talked_about() {
    let mut desk = Desk::new();
    desk.write("routines/mail.md", &good("mail", "Triage."));
    desk.look();
    for half in ["", "---\nid: mail\n", "---\nid: mail\ncr"] {
        desk.write("routines/mail.md", half);
        check(&desk.look(), expect![""]);
        desk.pass(1_500);
        check(&desk.look(), expect![""]);
    }
    desk.write("routines/mail.md", &good("mail", "Triage!"));
    check(&desk.look(), expect!["plans routine:mail as routines/mail.md: Triage!"]);
    check(&desk.settled(), expect![""]);
}

/// B8: a file that settles within two seconds is not reported, however it is saved.
#[test]
fn a_file_that_is_being_saved_is_not_talked_about() {
    let mut desk = Desk::new();
    desk.write("routines/mail.md", &good("mail", "Triage."));
    desk.look();
    // Truncated, then written in two parts.
    for half in ["", "---\nid: mail\ncr"] {
        desk.write("routines/mail.md", half);
        check(&desk.look(), expect![""]);
        assert!(desk.book.again().is_some());
        desk.pass(100);
    }
    desk.write("routines/mail.md", &good("mail", "Triage!"));
    check(&desk.look(), expect!["plans routine:mail as routines/mail.md: Triage!"]);
    assert_eq!(desk.book.again(), None);
    // Renamed, then written again.
    desk.rename("routines/mail.md", "routines/mail.md~");
    check(&desk.look(), expect![""]);
    desk.pass(200);
    desk.write("routines/mail.md", &good("mail", "Triage."));
    check(&desk.look(), expect!["plans routine:mail as routines/mail.md: Triage."]);
    check(&desk.settled(), expect![""]);
    // Left incomplete: reported once, after the delay.
    desk.write("routines/mail.md", "---\nid: mail\n");
    check(&desk.look(), expect![""]);
    check(
        &desk.settled(),
        expect![
            "broken routines/mail.md (routine:mail): the frontmatter has no end; put a line `---` between the settings and the words"
        ],
    );
}

/// SC-4, RP-28: the plan of a deleted file is removed after a delay.
#[test]
fn a_deleted_file_takes_its_job_along() {
    let mut desk = Desk::new();
    desk.write("routines/mail.md", &good("mail", "Triage."));
    desk.write("routines/odd.md", "---\nid: odd\n---\n");
    desk.settled();
    desk.remove("routines/mail.md");
    desk.remove("routines/odd.md");
    check(&desk.look(), expect![""]);
    check(
        &desk.settled(),
        expect![[r#"
        mended routines/odd.md
        gone routine:mail"#]],
    );
}

/// DD-33: a rename changes only the file name of the plan.
#[test]
fn a_rename_is_only_a_rename() {
    let mut desk = Desk::new();
    desk.write("routines/b.md", &good("mail", "Triage."));
    desk.look();
    for (from, to) in [("routines/b.md", "routines/c.md"), ("routines/c.md", "routines/a.md")] {
        desk.rename(from, to);
        assert_eq!(told(&desk.look()), format!("plans routine:mail as {to}: Triage."));
        check(&desk.settled(), expect![""]);
    }
}

/// RP-29: a file that is renamed and made invalid at once keeps its plan.
#[test]
fn a_renamed_file_that_cannot_be_read_is_still_somebodys() {
    let mut desk = Desk::new();
    desk.write("routines/a.md", &good("mail", "Triage."));
    desk.look();
    desk.remove("routines/a.md");
    desk.write("routines/b.md", "---\nid: mail\ncron:\n---\nTriage.\n");
    check(&desk.look(), expect![""]);
    let news = told(&desk.settled());
    assert!(news.contains("broken routines/b.md (routine:mail): line 3: `cron`: is missing"), "{news}");
    assert!(news.ends_with("plans routine:mail as routines/b.md: Triage."), "{news}");
    desk.remove("routines/b.md");
    check(
        &desk.settled(),
        expect![[r#"
        mended routines/b.md
        gone routine:mail"#]],
    );
}

/// DD-34: of two files with the same id the first one by name counts; if it is removed, the other
/// one does.
#[test]
fn of_two_files_with_one_id_the_first_counts() {
    let mut desk = Desk::new();
    desk.write("routines/b.md", &good("mail", "Second."));
    desk.look();
    desk.write("routines/a.md", &good("mail", "First."));
    check(&desk.look(), expect!["plans routine:mail as routines/a.md: First."]);
    check(
        &desk.settled(),
        expect![
            "broken routines/b.md (routine:mail): `id`: `mail` is already the id of a.md, which comes first; give this one another id"
        ],
    );
    desk.remove("routines/a.md");
    check(
        &desk.settled(),
        expect![[r#"
        mended routines/b.md
        plans routine:mail as routines/b.md: Second."#]],
    );
    desk.write("routines/a.md", &good("other", "First."));
    check(&desk.settled(), expect!["plans routine:other as routines/a.md: First."]);
    // A routine and a reminder may have the same id.
    desk.write("reminders/a.md", "---\nid: mail\nrun-at: 2026-11-20T09:00:00Z\n---\nCall.\n");
    check(&desk.settled(), expect!["plans reminder:mail as reminders/a.md: Call."]);
}

/// A second change within the resolution of file times, with the same length, is detected.
#[test]
fn a_second_change_in_the_same_moment_is_seen() {
    let mut desk = Desk::new();
    desk.write("routines/mail.md", &good("mail", "One."));
    desk.look();
    desk.write("routines/mail.md", &good("mail", "Two."));
    desk.pass(10_000);
    check(&desk.look(), expect!["plans routine:mail as routines/mail.md: Two."]);
}

/// B10, DD-27, SC-5: invalid files do not affect other jobs.
#[test]
fn what_cannot_be_read_harms_nobody_else() {
    let mut desk = Desk::new();
    desk.write("routines/a.md", &good("a", "First."));
    desk.write("routines/b.md", "");
    desk.write("routines/c.md", &format!("{}{}", good("c", "x"), "x".repeat(50 << 20)));
    desk.write("routines/d.md/inner.md", &good("inner", "x"));
    desk.disk.put("/data/routines/e.md", b"---\nid: e\xff\n---\n");
    desk.write("routines/f.md", "---\nid: f\ncron: 0 9 * * *\n---\n...\n");
    desk.write("routines/z.md", &good("z", "Last."));
    desk.pass(2_000);
    check(
        &desk.settled(),
        expect![[r#"
        broken routines/b.md: line 1: there is no frontmatter; the first line must be `---`, then the settings, then `---`
        broken routines/c.md: it is larger than 1 MB; a file like this holds a few pages
        broken routines/d.md: it is a directory; only files are read
        broken routines/e.md: it is not text; save it as UTF-8
        broken routines/f.md (routine:f): line 4: it is told to do nothing; write what to do under the second `---`
        plans routine:a as routines/a.md: First.
        plans routine:z as routines/z.md: Last."#]],
    );
    check(&desk.settled(), expect![""]);
}

/// B8, DD-27: a disk error removes no plan and is reported once.
#[test]
fn a_disk_that_fails_takes_no_job_away() {
    for at in 0..6 {
        let mut desk = Desk::new();
        desk.write("routines/a.md", &good("a", "First."));
        desk.write("routines/b.md", &good("b", "Second."));
        let failing = FailingDisk::new(desk.disk.clone(), at, Fault::Broken, Lasting::Once);
        let mut book = JobBook::open(Arc::new(failing), &Paths::new("/data"), TimeZone::UTC);
        book.look(desk.now);
        desk.pass(10_000);
        let first = book.look(desk.now);
        desk.pass(10_000);
        let rest = book.look(desk.now);
        let gone = |news: &[FileNews]| news.iter().any(|news| matches!(news, FileNews::Gone(_)));
        assert!(!gone(&first) && !gone(&rest), "call {at}: {}", told(&[first, rest].concat()));
        assert_eq!(book.planned().count(), 2, "call {at}");
    }
    let mut desk = Desk::new();
    desk.write("routines", "a file");
    desk.write("reminders/a.md", "---\nid: a\nrun-at: 2026-11-20T09:00:00Z\n---\nCall.\n");
    check(
        &desk.look(),
        expect![[r#"
        broken routines: it cannot be read (not a directory); make it a directory that this account can read
        plans reminder:a as reminders/a.md: Call."#]],
    );
    check(&desk.look(), expect![""]);
    desk.disk.remove(Path::new("/data/routines")).unwrap();
    check(&desk.look(), expect!["mended routines"]);
}

/// A scan of one changed file finds the same as a scan of all files.
#[test]
fn one_changed_file_is_looked_at_alone() {
    let mut desk = Desk::new();
    desk.write("routines/a.md", &good("a", "First."));
    desk.look();
    desk.write("routines/a.md", &good("a", "Other."));
    desk.write("routines/b.md", &good("a", "Twin."));
    check(&desk.look_at("routines/b.md"), expect![""]);
    check(&desk.look_at("routines/a.md"), expect!["plans routine:a as routines/a.md: Other."]);
    check(&desk.look_at("elsewhere/c.md"), expect![""]);
    check(&desk.look_at("routines"), expect![""]);
    check(&desk.look_at("routines/never-there.md"), expect![""]);
    desk.remove("routines/a.md");
    assert_eq!(told(&desk.look_at("routines/a.md")), "plans routine:a as routines/b.md: Twin.");
}
