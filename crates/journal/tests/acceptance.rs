//! Permissions requested by job files, which are withheld until the user accepts them.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]
#![expect(clippy::disallowed_methods, reason = "simulates an editor, not the assistant")]

mod job_texts;

use std::sync::Arc;

use domain::cost::CostSource;
use domain::schedule::ToolRule;
use expect_test::{Expect, expect};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use job_texts::news_lines;
use journal::disk::RealDisk;
use journal::jobs::JobFileScanner;
use journal::{
    AcceptedPermissions, Journal, OpenParams, Paths, PermissionRequests, accept_change, accept_requested,
    open,
};
use tempfile::TempDir;

struct TestSetup {
    home: TempDir,
    journal: Journal,
    scanner: JobFileScanner,
    now: Timestamp,
}

impl TestSetup {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::new(home.path());
        let zone = TimeZone::UTC;
        let now = Timestamp::constant(2_000_000_000, 0);
        for folder in ["routines", "reminders"] {
            std::fs::create_dir(home.path().join(folder)).unwrap();
        }
        let place =
            OpenParams { paths: paths.clone(), disk: Arc::new(RealDisk), zone: zone.clone(), now, pid: 1 };
        let journal = open(place).unwrap().journal;
        Self { home, journal, scanner: JobFileScanner::open(Arc::new(RealDisk), &paths, zone), now }
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.home.path().join(file), text).unwrap();
    }

    fn paths(&self) -> Paths {
        Paths::new(self.home.path())
    }

    /// Scans after all files have settled.
    fn check_scan(&mut self, expected: Expect) {
        self.now += SignedDuration::from_secs(60);
        expected.assert_eq(&news_lines(&self.scanner.scan(self.now)));
    }

    async fn accept_initial_jobs(&self) {
        let asking =
            self.scanner.planned().map(|planned| PermissionRequests::for_job(&planned.spec)).collect();
        self.journal.accept_initial_jobs(asking, self.now).await.unwrap();
    }

    fn tools(&self, id: &str) -> ToolRule {
        let source = CostSource::Routine(id.to_owned());
        let planned = self.scanner.planned().find(|planned| planned.source() == source).unwrap();
        planned.target().written_options().tools.clone()
    }
}

/// A background routine with these lines.
fn mail(tools: &str) -> String {
    job_texts::valid_routine("mail", "Triage.")
        .replace("\n---\n", &format!("\nbackground: true\n{tools}---\n"))
}

fn only(tools: &[&str]) -> ToolRule {
    ToolRule::Only(tools.iter().map(|tool| (*tool).to_owned()).collect())
}

const READ: &str = "allowed-tools:\n- Read\n";
const BOTH: &str = "allowed-tools:\n- Read\n- Bash(git *)\n";

/// I6, SC-3: requests that exist at the first start are accepted. Later requests are withheld and
/// reported once, also if the first start is repeated; fewer requests apply immediately; accepted
/// ones apply from the next scan on.
#[tokio::test]
async fn a_new_permission_is_withheld_until_it_is_accepted() {
    let mut rig = TestSetup::new();
    rig.write("routines/mail.md", &mail(READ));
    rig.check_scan(expect!["plans routine:mail as routines/mail.md: Triage."]);
    rig.accept_initial_jobs().await;
    assert_eq!(rig.tools("mail"), only(&["Read"]));
    rig.write("routines/mail.md", &mail(BOTH));
    rig.check_scan(expect![[r#"held routines/mail.md: asks for "Bash(git *)", which you have not accepted: it runs without. `ollim-bot routine accept mail` accepts it."#]]);
    assert_eq!(rig.tools("mail"), only(&["Read"]));
    rig.check_scan(expect![""]);
    rig.accept_initial_jobs().await;
    rig.check_scan(expect![""]);
    let asking = PermissionRequests::parse_file("routines/mail.md", &mail(BOTH)).unwrap();
    accept_requested(&rig.paths(), &asking, rig.now).unwrap();
    rig.check_scan(expect![[r#"
        mended routines/mail.md
        plans routine:mail as routines/mail.md: Triage."#]]);
    assert_eq!(rig.tools("mail"), only(&["Read", "Bash(git *)"]));
    rig.write("routines/mail.md", &mail("allowed-tools:\n- Bash(git *)\n"));
    rig.check_scan(expect!["plans routine:mail as routines/mail.md: Triage."]);
    assert_eq!(rig.tools("mail"), only(&["Bash(git *)"]));
}

/// I6: a list of disallowed tools permits all others, so each such list is accepted as a whole. A
/// new file is treated like a changed one.
#[tokio::test]
async fn a_shorter_list_of_disallowed_tools_requests_more_permissions() {
    let mut rig = TestSetup::new();
    rig.write("routines/mail.md", &mail("disallowed-tools:\n- Bash\n- Write\n"));
    rig.check_scan(expect!["plans routine:mail as routines/mail.md: Triage."]);
    rig.accept_initial_jobs().await;
    rig.write("routines/mail.md", &mail("disallowed-tools:\n- Write\n"));
    rig.check_scan(expect![[r#"
        held routines/mail.md: asks for every tool but "Write", which you have not accepted: it runs without. `ollim-bot routine accept mail` accepts it.
        plans routine:mail as routines/mail.md: Triage."#]]);
    assert_eq!(rig.tools("mail"), ToolRule::SameAsMain);
    rig.write("routines/other.md", &mail("skills:\n- tidy\n").replace("id: mail", "id: other"));
    rig.check_scan(expect![[r#"
        held routines/other.md: asks for the skill "tidy", which you have not accepted: it runs without. `ollim-bot routine accept other` accepts it.
        plans routine:other as routines/other.md: Triage."#]]);
}

/// CH-1, I6: a follow-up in a chain has the permissions of the first reminder without another
/// question, but not more.
#[tokio::test]
async fn a_follow_up_has_the_permissions_of_the_first_reminder_of_its_chain() {
    let mut rig = TestSetup::new();
    let check = |id: &str, depth: u32, tools: &str| {
        format!(
            "---\nid: {id}\nrun-at: 2031-01-02T03:04:05Z\nbackground: true\nchain-depth: {depth}\nmax-chain: 3\n\
             chain-parent: first\n{tools}---\nLook again.\n"
        )
    };
    rig.write("reminders/first.md", &check("first", 0, READ));
    rig.check_scan(expect!["plans reminder:first as reminders/first.md: Look again."]);
    rig.accept_initial_jobs().await;
    rig.write("reminders/second.md", &check("second", 1, READ));
    rig.check_scan(expect!["plans reminder:second as reminders/second.md: Look again."]);
    rig.write("reminders/third.md", &check("third", 2, BOTH));
    rig.check_scan(expect![[r#"
        held reminders/third.md: asks for "Bash(git *)", which you have not accepted: it runs without. `ollim-bot reminder accept third` accepts it.
        plans reminder:third as reminders/third.md: Look again."#]]);
}

/// I6: other files request nothing.
#[test]
fn only_job_files_request_permissions() {
    assert_eq!(PermissionRequests::parse_file("notes/mail.md", &mail(BOTH)), None);
    assert_eq!(PermissionRequests::parse_file("routines/old/mail.md", &mail(BOTH)), None);
    assert_eq!(PermissionRequests::parse_file("routines/mail.md", "no frontmatter"), None);
    assert_eq!(PermissionRequests::parse_file("routines/mail.md", &mail(READ)).unwrap().lines, ["\"Read\""]);
}

/// I6: a change of part of a file accepts the requests in that part, but not those that another
/// program put into the rest. Removed requests are revoked.
#[tokio::test]
async fn a_change_accepts_only_the_requests_it_adds() {
    let rig = TestSetup::new();
    rig.accept_initial_jobs().await;
    let file = "routines/mail.md";
    let paths = rig.paths();
    let change = |before: &str, after: &str| accept_change(&paths, file, before, after, rig.now).unwrap();
    let held = |text: &str| {
        AcceptedPermissions::load(&paths).withheld(&PermissionRequests::parse_file(file, text).unwrap())
    };
    let read = mail(READ);
    let both = mail(BOTH);
    change(&read, &both);
    assert_eq!(held(&both), ["\"Read\""], "that was there before");
    change(&both, &read);
    assert_eq!(
        held(&both),
        ["\"Read\"", "\"Bash(git *)\""],
        "what was taken away comes back with a question"
    );
    change("a text that cannot be read", &both);
    change(&both.replace("background: true\n", ""), &both);
    change(&both.replace("allowed-tools", "disallowed-tools"), &both);
    assert_eq!(held(&both), ["\"Read\"", "\"Bash(git *)\""], "nobody has seen those lines");
    accept_requested(&paths, &PermissionRequests::parse_file(file, &both).unwrap(), rig.now).unwrap();
    assert_eq!(held(&both), [""; 0]);
    accept_requested(&paths, &PermissionRequests::parse_file(file, &read).unwrap(), rig.now).unwrap();
    assert_eq!(held(&both), ["\"Bash(git *)\""], "who writes the whole accepts that and no more");
}

/// I6, B5: a recovered journal may have lost the acceptances, so nothing is accepted implicitly.
#[tokio::test]
async fn a_recovered_journal_accepts_nothing_implicitly() {
    let mut rig = TestSetup::new();
    rig.write("routines/mail.md", &mail(READ));
    rig.check_scan(expect!["plans routine:mail as routines/mail.md: Triage."]);
    rig.accept_initial_jobs().await;
    let home = rig.home;
    let now = rig.now;
    let paths = Paths::new(home.path());
    drop(rig.journal);
    std::fs::write(paths.database(), "no database at all").unwrap();
    let place =
        OpenParams { paths: paths.clone(), disk: Arc::new(RealDisk), zone: TimeZone::UTC, now, pid: 1 };
    let opened = open(place).unwrap();
    assert!(opened.notices.iter().any(|notice| notice.contains("damaged")), "{:?}", opened.notices);
    let asked = PermissionRequests::parse_file("routines/mail.md", &mail(READ)).unwrap();
    assert_eq!(AcceptedPermissions::load(&paths).withheld(&asked), ["\"Read\""]);
    drop(home);
}

/// A reminder with withheld permissions is written with all requests of its file.
#[test]
fn a_reminder_is_written_with_its_withheld_permissions() {
    use domain::schedule::{JobSpec, Reminder};
    use journal::files::items::Item as _;
    let text = "---\nid: c1\nrun-at: 2026-11-16T09:00:00Z\nbackground: true\nmax-chain: 2\nallowed-tools:\n- Read\n\
                - WebFetch\nskills:\n- tidy\n---\nwas it sent?\n";
    let reminder = Reminder::read(text, &TimeZone::UTC).unwrap();
    let written = reminder.to_text();
    let JobSpec::Reminder(held) =
        JobSpec::Reminder(reminder).without(&["\"WebFetch\"".to_owned(), "the skill \"tidy\"".to_owned()])
    else {
        panic!("a reminder")
    };
    assert_eq!(held.to_text(), written);
}

/// Tool patterns that cannot be parsed are reported when the file is loaded.
#[tokio::test]
async fn a_tool_pattern_that_cannot_be_parsed_is_reported() {
    let mut rig = TestSetup::new();
    rig.write(
        "routines/mail.md",
        &mail("disallowed-tools:\n- Bash(ollim-bot cal\n- Bsh(ls)\n- Read(**.md)\n"),
    );
    rig.check_scan(expect![[r#"
        held routines/mail.md: has tool patterns that cannot be understood: `Bash(ollim-bot cal` forbids all that this tool does: it is no pattern. write a name, such as `WebFetch`, or `Name(args)`, such as `Read(**.md)`. `Bsh(ls)` forbids nothing: no tool has this name. the tools are named in the user guide, such as `Read`, `Bash` and `mcp__notes__*`.
        plans routine:mail as routines/mail.md: Triage."#]]);
    rig.write("routines/mail.md", &mail("disallowed-tools:\n- Read(**.md)\n"));
    rig.check_scan(expect![[r#"
        mended routines/mail.md
        plans routine:mail as routines/mail.md: Triage."#]]);
}

/// A problem of a file is reported once per content, also over restarts.
#[tokio::test]
async fn a_restart_does_not_repeat_a_notice_about_a_file() {
    let rig = TestSetup::new();
    rig.write("routines/mail.md", "---\nid: mail\n");
    let start = |second: i64| {
        let mut book =
            JobFileScanner::open(Arc::new(RealDisk), &rig.paths(), TimeZone::UTC).with_stored_notices();
        let now = rig.now + SignedDuration::from_secs(60 + second);
        news_lines(&book.scan(now))
    };
    assert!(start(0).starts_with("broken routines/mail.md"));
    assert_eq!(start(10), "told before: routines/mail.md");
    rig.write("routines/mail.md", "---\nid: mail\ncron: 99 9 * * *\n---\nTriage.\n");
    assert!(start(20).starts_with("broken routines/mail.md"), "that is something else");
    assert_eq!(start(30), "told before: routines/mail.md");
}

/// A start removes the notices about valid and missing files, so that the same mistake is reported
/// again later.
#[tokio::test]
async fn a_problem_is_reported_again_after_the_file_was_fixed_while_the_program_was_down() {
    let rig = TestSetup::new();
    let wrong = "---\nid: mail\n";
    let start = |second: i64| {
        let mut book =
            JobFileScanner::open(Arc::new(RealDisk), &rig.paths(), TimeZone::UTC).with_stored_notices();
        let now = rig.now + SignedDuration::from_secs(60 + second);
        news_lines(&book.scan(now))
    };
    for (second, mend) in [(0, Some(mail(""))), (100, None)] {
        rig.write("routines/mail.md", wrong);
        assert!(start(second).starts_with("broken routines/mail.md"), "{second}");
        match &mend {
            Some(mended) => rig.write("routines/mail.md", mended),
            None => std::fs::remove_file(rig.home.path().join("routines/mail.md")).unwrap(),
        }
        assert!(!start(second + 10).contains("broken"), "{second}");
        rig.write("routines/mail.md", wrong);
        assert!(start(second + 20).starts_with("broken routines/mail.md"), "{second}: it is told anew");
        assert_eq!(start(second + 30), "told before: routines/mail.md");
        rig.write("routines/mail.md", &mail(""));
        start(second + 40);
    }
}

/// The notices about files in an unreadable folder are kept.
#[tokio::test]
async fn notices_about_files_in_an_unreadable_folder_are_kept() {
    let rig = TestSetup::new();
    rig.write("routines/mail.md", "---\nid: mail\n");
    let start = |second: i64| {
        let mut book =
            JobFileScanner::open(Arc::new(RealDisk), &rig.paths(), TimeZone::UTC).with_stored_notices();
        let now = rig.now + SignedDuration::from_secs(60 + second);
        news_lines(&book.scan(now))
    };
    assert!(start(0).starts_with("broken routines/mail.md"));
    let folder = rig.home.path().join("routines");
    let elsewhere = rig.home.path().join("away");
    std::fs::rename(&folder, &elsewhere).unwrap();
    std::fs::write(&folder, "no folder").unwrap();
    assert!(start(10).starts_with("broken routines: it cannot be read"));
    std::fs::remove_file(&folder).unwrap();
    std::fs::rename(&elsewhere, &folder).unwrap();
    assert_eq!(start(20), "told before: routines/mail.md");
}

/// An accepted permission applies immediately, not only at the next periodic scan.
#[tokio::test]
async fn an_accepted_permission_applies_immediately() {
    struct RealClock;
    impl engine::ports::Clock for RealClock {
        fn now(&self) -> jiff::Zoned {
            Timestamp::now().to_zoned(TimeZone::UTC)
        }
        fn since_boot(&self) -> std::time::Duration {
            std::time::Duration::ZERO
        }
    }
    let rig = TestSetup::new();
    rig.accept_initial_jobs().await;
    rig.write("routines/mail.md", &mail(READ));
    let book = JobFileScanner::open(Arc::new(RealDisk), &rig.paths(), TimeZone::UTC);
    let never = std::time::Duration::from_secs(24 * 3600);
    let (mut news, _watch) = journal::jobs::watch(book, Arc::new(RealClock), never).unwrap();
    let held = news.recv().await.unwrap();
    assert!(news_lines(&held).contains("held routines/mail.md"), "{}", news_lines(&held));
    accept_requested(
        &rig.paths(),
        &PermissionRequests::parse_file("routines/mail.md", &mail(READ)).unwrap(),
        rig.now,
    )
    .unwrap();
    let soon = tokio::time::timeout(testkit::TEST_TIMEOUT, news.recv()).await;
    let accepted = soon.expect("in time").unwrap();
    assert!(news_lines(&accepted).contains("plans routine:mail"), "{}", news_lines(&accepted));
}
