//! Watching job files on a real disk, with file system events.
#![expect(clippy::unwrap_used, reason = "data created by the test exists")]
#![expect(clippy::disallowed_methods, reason = "simulates an editor, not the assistant")]

mod job_texts;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use domain::schedule::JobFileChange;
use engine::ports::Clock;
use expect_test::{Expect, expect};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use job_texts::{news_lines, valid_routine};
use journal::Paths;
use journal::disk::RealDisk;
use journal::jobs::{JobFileScanner, JobFileWatch, watch};
use tempfile::TempDir;
use tokio::sync::mpsc::Receiver;

struct RealClock;

impl Clock for RealClock {
    fn now(&self) -> Zoned {
        Timestamp::now().to_zoned(TimeZone::UTC)
    }

    fn since_boot(&self) -> Duration {
        Duration::ZERO
    }
}

/// So long that only file system events can cause news.
const NEVER: Duration = Duration::from_secs(24 * 3600);

fn start_watch(data: &Path, every: Duration) -> (Receiver<Vec<JobFileChange>>, JobFileWatch) {
    let book = JobFileScanner::open(Arc::new(RealDisk), &Paths::new(data), TimeZone::UTC);
    watch(book, Arc::new(RealClock), every).unwrap()
}

fn expect_news(news: &mut Receiver<Vec<JobFileChange>>, expected: Expect) {
    expected.assert_eq(&news_lines(&news.blocking_recv().unwrap()));
}

fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("routines")).unwrap();
    home
}

/// SC-1, SC-3, A6: a change is detected by itself: a file is written, edited in place, replaced,
/// made invalid, fixed, deleted.
#[test]
fn a_change_of_a_file_is_reported() {
    let home = home();
    let file = home.path().join("routines/mail.md");
    fs::write(&file, valid_routine("mail", "Triage.")).unwrap();
    let (mut news, watch) = start_watch(home.path(), NEVER);
    expect_news(&mut news, expect!["plans routine:mail as routines/mail.md: Triage."]);
    fs::write(&file, valid_routine("mail", "Triage!")).unwrap();
    expect_news(&mut news, expect!["plans routine:mail as routines/mail.md: Triage!"]);
    let beside = home.path().join("routines/mail.md.new");
    fs::write(&beside, valid_routine("mail", "Triage?")).unwrap();
    fs::rename(&beside, &file).unwrap();
    expect_news(&mut news, expect!["plans routine:mail as routines/mail.md: Triage?"]);
    fs::write(&file, "---\nid: mail\n").unwrap();
    expect_news(
        &mut news,
        expect![
            "broken routines/mail.md (routine:mail): the frontmatter has no end; put a line `---` between the settings and the words"
        ],
    );
    fs::write(&file, valid_routine("mail", "Triage?")).unwrap();
    expect_news(&mut news, expect!["mended routines/mail.md"]);
    fs::remove_file(&file).unwrap();
    expect_news(&mut news, expect!["gone routine:mail"]);
    let reminder = "---\nid: call\nrun-at: 2026-11-20T09:00:00Z\n---\nCall mum.\n";
    fs::write(home.path().join("reminders/call.md"), reminder).unwrap();
    expect_news(&mut news, expect!["plans reminder:call as reminders/call.md: Call mum."]);
    drop(watch);
    assert!(news.blocking_recv().is_none());
}

/// SC-1: a change without an event is detected by the periodic scan.
#[test]
fn a_change_without_an_event_is_found_by_the_periodic_scan() {
    let home = home();
    // The first scan finds this file. A half-written file would be reported at once by the first
    // scan.
    let reminder = "---\nid: call\nrun-at: 2026-11-20T09:00:00Z\n---\nCall mum.\n";
    fs::create_dir(home.path().join("reminders")).unwrap();
    fs::write(home.path().join("reminders/call.md"), reminder).unwrap();
    let (mut news, _watch) = start_watch(home.path(), Duration::from_millis(20));
    expect_news(&mut news, expect!["plans reminder:call as reminders/call.md: Call mum."]);
    fs::rename(home.path().join("routines"), home.path().join("old")).unwrap();
    fs::create_dir(home.path().join("routines")).unwrap();
    fs::write(home.path().join("routines/mail.md"), valid_routine("mail", "Triage.")).unwrap();
    expect_news(&mut news, expect!["plans routine:mail as routines/mail.md: Triage."]);
    fs::write(home.path().join("routines/mail.md"), valid_routine("mail", "Triage!")).unwrap();
    expect_news(&mut news, expect!["plans routine:mail as routines/mail.md: Triage!"]);
}

/// B10: invalid files on a real disk do not affect others.
#[test]
fn broken_links_and_directories_do_not_affect_other_files() {
    let home = home();
    let routines = home.path().join("routines");
    std::os::unix::fs::symlink("nowhere", routines.join("a.md")).unwrap();
    std::os::unix::fs::symlink("b.md", routines.join("b.md")).unwrap();
    fs::create_dir(routines.join("c.md")).unwrap();
    fs::write(routines.join("d.md"), vec![b'x'; 50 << 20]).unwrap();
    fs::write(routines.join("mail.md"), valid_routine("mail", "Triage.")).unwrap();
    std::os::unix::fs::symlink("mail.md", home.path().join("reminders.md")).unwrap();
    let mut book = JobFileScanner::open(Arc::new(RealDisk), &Paths::new(home.path()), TimeZone::UTC);
    let later = Timestamp::now() + jiff::SignedDuration::from_secs(60);
    expect![[r#"
        broken routines/a.md: it is a link that leads nowhere; remove it or mend it
        broken routines/b.md: it is a link that leads nowhere; remove it or mend it
        broken routines/c.md: it is a directory; only files are read
        broken routines/d.md: it is larger than 1 MB; a file like this holds a few pages
        plans routine:mail as routines/mail.md: Triage."#]]
    .assert_eq(&news_lines(&book.scan(later)));
    assert_eq!(news_lines(&book.scan(later)), "");
}
