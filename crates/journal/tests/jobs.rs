//! The job file scanner: its news while files change.

mod job_fixture;
mod job_texts;

use std::path::Path;
use std::sync::Arc;

use domain::schedule::JobFileChange;
use expect_test::{Expect, expect};
use jiff::tz::TimeZone;
use job_fixture::JobFixture;
use job_texts::{news_lines, valid_routine};
use journal::Paths;
use journal::disk::Disk;
use journal::jobs::JobFileScanner;
use testkit::disk::{DiskFault, FailingDisk, FaultDuration};

/// Compares the news of a scan, one line each.
fn check(news: &[JobFileChange], expected: Expect) {
    expected.assert_eq(&news_lines(news));
}

/// SC-1, SC-2, DD-26: the first scan reports everything, the second one nothing.
#[test]
fn the_first_scan_reports_all_plans() {
    let mut desk = JobFixture::new();
    desk.write("routines/mail.md", &valid_routine("mail", "Triage."));
    desk.write("reminders/call.md", "---\nid: call\nrun-at: 2026-11-20T09:00:00Z\n---\nCall mum.\n");
    desk.write("routines/notes.txt", "not ours");
    desk.write("routines/.#mail.md", "an editor's lock");
    check(
        &desk.scan(),
        expect![[r#"
        plans routine:mail as routines/mail.md: Triage.
        plans reminder:call as reminders/call.md: Call mum."#]],
    );
    check(&desk.scan(), expect![""]);
    assert_eq!(desk.scanner.planned().count(), 2);
}

/// SC-3, RP-29: an edit applies at once, and a file that becomes invalid keeps its last valid plan.
#[test]
fn a_file_that_becomes_invalid_keeps_its_plan() {
    let mut desk = JobFixture::new();
    desk.write("routines/mail.md", &valid_routine("mail", "Triage."));
    desk.scan();
    desk.write("routines/mail.md", &valid_routine("mail", "Triage, and answer Tom."));
    check(&desk.scan(), expect!["plans routine:mail as routines/mail.md: Triage, and answer Tom."]);
    desk.write("routines/mail.md", "---\nid: mail\ncron: never\n---\nTriage.\n");
    check(
        &desk.scan_settled(),
        expect![[r#"
        broken routines/mail.md (routine:mail): line 3: `cron`: "never" does not have five fields (1 found); write them as: minute, hour, day, month, weekday, like `0 9 * * 1-5`"#]],
    );
    check(&desk.scan_settled(), expect![""]);
    desk.touch("routines/mail.md");
    check(&desk.scan_settled(), expect![""]);
    desk.write("routines/mail.md", "---\nid: mail\ncron: never\n---\nTriage!\n");
    assert!(news_lines(&desk.scan_settled()).starts_with("broken routines/mail.md"));
    assert_eq!(desk.routine_text("mail").as_deref(), Some("Triage, and answer Tom."));
    desk.write("routines/mail.md", &valid_routine("mail", "Triage."));
    check(
        &desk.scan(),
        expect![[r#"
        mended routines/mail.md
        plans routine:mail as routines/mail.md: Triage."#]],
    );
}

/// A file that is written slowly, with pauses, is reported only if it is still invalid two seconds
/// after the last write.
#[test]
fn a_slowly_written_file_is_not_reported() {
    let mut desk = JobFixture::new();
    desk.write("routines/mail.md", &valid_routine("mail", "Triage."));
    desk.scan();
    for half in ["", "---\nid: mail\n", "---\nid: mail\ncr"] {
        desk.write("routines/mail.md", half);
        check(&desk.scan(), expect![""]);
        desk.advance(1_500);
        check(&desk.scan(), expect![""]);
    }
    desk.write("routines/mail.md", &valid_routine("mail", "Triage!"));
    check(&desk.scan(), expect!["plans routine:mail as routines/mail.md: Triage!"]);
    check(&desk.scan_settled(), expect![""]);
}

/// B8: a file that settles within two seconds is not reported, however it is saved.
#[test]
fn a_file_that_is_being_saved_is_not_reported() {
    let mut desk = JobFixture::new();
    desk.write("routines/mail.md", &valid_routine("mail", "Triage."));
    desk.scan();
    // Truncated, then written in two parts.
    for half in ["", "---\nid: mail\ncr"] {
        desk.write("routines/mail.md", half);
        check(&desk.scan(), expect![""]);
        assert!(desk.scanner.next_scan_at().is_some());
        desk.advance(100);
    }
    desk.write("routines/mail.md", &valid_routine("mail", "Triage!"));
    check(&desk.scan(), expect!["plans routine:mail as routines/mail.md: Triage!"]);
    assert_eq!(desk.scanner.next_scan_at(), None);
    // Renamed, then written again.
    desk.rename("routines/mail.md", "routines/mail.md~");
    check(&desk.scan(), expect![""]);
    desk.advance(200);
    desk.write("routines/mail.md", &valid_routine("mail", "Triage."));
    check(&desk.scan(), expect!["plans routine:mail as routines/mail.md: Triage."]);
    check(&desk.scan_settled(), expect![""]);
    // Left incomplete: reported once, after the delay.
    desk.write("routines/mail.md", "---\nid: mail\n");
    check(&desk.scan(), expect![""]);
    check(
        &desk.scan_settled(),
        expect![
            "broken routines/mail.md (routine:mail): the frontmatter has no end; put a line `---` between the settings and the words"
        ],
    );
}

/// SC-4, RP-28: the plan of a deleted file is removed after a delay.
#[test]
fn the_plan_of_a_deleted_file_is_removed() {
    let mut desk = JobFixture::new();
    desk.write("routines/mail.md", &valid_routine("mail", "Triage."));
    desk.write("routines/odd.md", "---\nid: odd\n---\n");
    desk.scan_settled();
    desk.remove("routines/mail.md");
    desk.remove("routines/odd.md");
    check(&desk.scan(), expect![""]);
    check(
        &desk.scan_settled(),
        expect![[r#"
        mended routines/odd.md
        gone routine:mail"#]],
    );
}

/// DD-33: a rename changes only the file name of the plan.
#[test]
fn a_rename_changes_only_the_file_name() {
    let mut desk = JobFixture::new();
    desk.write("routines/b.md", &valid_routine("mail", "Triage."));
    desk.scan();
    for (from, to) in [("routines/b.md", "routines/c.md"), ("routines/c.md", "routines/a.md")] {
        desk.rename(from, to);
        assert_eq!(news_lines(&desk.scan()), format!("plans routine:mail as {to}: Triage."));
        check(&desk.scan_settled(), expect![""]);
    }
}

/// RP-29: a file that is renamed and made invalid at once keeps its plan.
#[test]
fn a_renamed_invalid_file_keeps_its_plan() {
    let mut desk = JobFixture::new();
    desk.write("routines/a.md", &valid_routine("mail", "Triage."));
    desk.scan();
    desk.remove("routines/a.md");
    desk.write("routines/b.md", "---\nid: mail\ncron:\n---\nTriage.\n");
    check(&desk.scan(), expect![""]);
    let news = news_lines(&desk.scan_settled());
    assert!(news.contains("broken routines/b.md (routine:mail): line 3: `cron`: is missing"), "{news}");
    assert!(news.ends_with("plans routine:mail as routines/b.md: Triage."), "{news}");
    desk.remove("routines/b.md");
    check(
        &desk.scan_settled(),
        expect![[r#"
        mended routines/b.md
        gone routine:mail"#]],
    );
}

/// DD-34: of two files with the same id the first one by name counts; if it is removed, the other
/// one does.
#[test]
fn of_two_files_with_one_id_the_first_counts() {
    let mut desk = JobFixture::new();
    desk.write("routines/b.md", &valid_routine("mail", "Second."));
    desk.scan();
    desk.write("routines/a.md", &valid_routine("mail", "First."));
    check(&desk.scan(), expect!["plans routine:mail as routines/a.md: First."]);
    check(
        &desk.scan_settled(),
        expect![
            "broken routines/b.md (routine:mail): `id`: `mail` is already the id of a.md, which comes first; give this one another id"
        ],
    );
    desk.remove("routines/a.md");
    check(
        &desk.scan_settled(),
        expect![[r#"
        mended routines/b.md
        plans routine:mail as routines/b.md: Second."#]],
    );
    desk.write("routines/a.md", &valid_routine("other", "First."));
    check(&desk.scan_settled(), expect!["plans routine:other as routines/a.md: First."]);
    // A routine and a reminder may have the same id.
    desk.write("reminders/a.md", "---\nid: mail\nrun-at: 2026-11-20T09:00:00Z\n---\nCall.\n");
    check(&desk.scan_settled(), expect!["plans reminder:mail as reminders/a.md: Call."]);
}

/// A second change within the resolution of file times, with the same length, is detected.
#[test]
fn a_second_change_with_the_same_time_is_detected() {
    let mut desk = JobFixture::new();
    desk.write("routines/mail.md", &valid_routine("mail", "One."));
    desk.scan();
    desk.write("routines/mail.md", &valid_routine("mail", "Two."));
    desk.advance(10_000);
    check(&desk.scan(), expect!["plans routine:mail as routines/mail.md: Two."]);
}

/// B10, DD-27, SC-5: invalid files do not affect other jobs.
#[test]
fn invalid_files_do_not_affect_other_jobs() {
    let mut desk = JobFixture::new();
    desk.write("routines/a.md", &valid_routine("a", "First."));
    desk.write("routines/b.md", "");
    desk.write("routines/c.md", &format!("{}{}", valid_routine("c", "x"), "x".repeat(50 << 20)));
    desk.write("routines/d.md/inner.md", &valid_routine("inner", "x"));
    desk.disk.put("/data/routines/e.md", b"---\nid: e\xff\n---\n");
    desk.write("routines/f.md", "---\nid: f\ncron: 0 9 * * *\n---\n...\n");
    desk.write("routines/z.md", &valid_routine("z", "Last."));
    desk.advance(2_000);
    check(
        &desk.scan_settled(),
        expect![[r#"
        broken routines/b.md: line 1: there is no frontmatter; the first line must be `---`, then the settings, then `---`
        broken routines/c.md: it is larger than 1 MB; a file like this holds a few pages
        broken routines/d.md: it is a directory; only files are read
        broken routines/e.md: it is not text; save it as UTF-8
        broken routines/f.md (routine:f): line 4: it is told to do nothing; write what to do under the second `---`
        plans routine:a as routines/a.md: First.
        plans routine:z as routines/z.md: Last."#]],
    );
    check(&desk.scan_settled(), expect![""]);
}

/// B8, DD-27: a disk error removes no plan and is reported once.
#[test]
fn a_disk_error_removes_no_plan() {
    for at in 0..6 {
        let mut desk = JobFixture::new();
        desk.write("routines/a.md", &valid_routine("a", "First."));
        desk.write("routines/b.md", &valid_routine("b", "Second."));
        let failing = FailingDisk::new(desk.disk.clone(), at, DiskFault::Broken, FaultDuration::Once);
        let mut book = JobFileScanner::open(Arc::new(failing), &Paths::new("/data"), TimeZone::UTC);
        book.scan(desk.now);
        desk.advance(10_000);
        let first = book.scan(desk.now);
        desk.advance(10_000);
        let rest = book.scan(desk.now);
        let gone = |news: &[JobFileChange]| news.iter().any(|news| matches!(news, JobFileChange::Removed(_)));
        assert!(!gone(&first) && !gone(&rest), "call {at}: {}", news_lines(&[first, rest].concat()));
        assert_eq!(book.planned().count(), 2, "call {at}");
    }
    let mut desk = JobFixture::new();
    desk.write("routines", "a file");
    desk.write("reminders/a.md", "---\nid: a\nrun-at: 2026-11-20T09:00:00Z\n---\nCall.\n");
    check(
        &desk.scan(),
        expect![[r#"
        broken routines: it cannot be read (not a directory); make it a directory that this account can read
        plans reminder:a as reminders/a.md: Call."#]],
    );
    check(&desk.scan(), expect![""]);
    desk.disk.remove(Path::new("/data/routines")).unwrap();
    check(&desk.scan(), expect!["mended routines"]);
}

/// A scan of one changed file finds the same as a scan of all files.
#[test]
fn one_changed_file_is_scanned_alone() {
    let mut desk = JobFixture::new();
    desk.write("routines/a.md", &valid_routine("a", "First."));
    desk.scan();
    desk.write("routines/a.md", &valid_routine("a", "Other."));
    desk.write("routines/b.md", &valid_routine("a", "Twin."));
    check(&desk.scan_file("routines/b.md"), expect![""]);
    check(&desk.scan_file("routines/a.md"), expect!["plans routine:a as routines/a.md: Other."]);
    check(&desk.scan_file("elsewhere/c.md"), expect![""]);
    check(&desk.scan_file("routines"), expect![""]);
    check(&desk.scan_file("routines/never-there.md"), expect![""]);
    desk.remove("routines/a.md");
    assert_eq!(news_lines(&desk.scan_file("routines/a.md")), "plans routine:a as routines/b.md: Twin.");
}
