//! The git history of the files, which never delays or fails other work.
#![expect(clippy::unwrap_used, reason = "a test without git or a directory cannot continue")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use journal::disk::{self, Disk, RealDisk};
use journal::git::{Git, Tracking, ensure_repository};
use tempfile::TempDir;

struct TestRepository {
    dir: TempDir,
}

impl TestRepository {
    fn new() -> Self {
        let house = Self { dir: tempfile::tempdir().unwrap() };
        assert_eq!(ensure_repository(&RealDisk, house.data(), "git"), Tracking::Created);
        house
    }

    fn data(&self) -> &Path {
        self.dir.path()
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.data().join(name);
        disk::replace(&RealDisk, &path, text.as_bytes()).unwrap();
        path
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git").current_dir(self.data()).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// The messages of all commits with the files that each changed, oldest first.
    fn log(&self) -> Vec<String> {
        let log = self.git(&["log", "--reverse", "--name-status", "--format=%s"]);
        log.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }
}

/// DD-11: a repository is created once.
#[test]
fn a_repository_is_created_once() {
    let house = TestRepository::new();
    assert_eq!(ensure_repository(&RealDisk, house.data(), "git"), Tracking::Existing);
}

/// DD-12, DD-13, DD-14: each commit contains one file, even if another one changed; removals are
/// committed too.
#[test]
fn one_change_is_one_commit_of_one_file() {
    let house = TestRepository::new();
    let git = Git::start("git");
    let mail = house.write("routines/mail.md", "a");
    let news = house.write("routines/news.md", "b");
    git.commit(&mail, "add routine a1b2c3d4".to_owned());
    git.commit(&news, "add routine b1b2c3d4".to_owned());
    git.commit(&news, "add routine b1b2c3d4".to_owned());
    git.finish();
    house.write("routines/news.md", "not asked for");

    let git = Git::start("git");
    disk::remove(&RealDisk, &mail).unwrap();
    git.commit_removal(&mail, "remove routine a1b2c3d4".to_owned());
    git.commit_removal(&house.data().join("routines/unknown.md"), "remove routine c".to_owned());
    git.finish();

    let log = [
        "add routine a1b2c3d4",
        "A\troutines/mail.md",
        "add routine b1b2c3d4",
        "A\troutines/news.md",
        "remove routine a1b2c3d4",
        "D\troutines/mail.md",
    ];
    assert_eq!(house.log(), log);
    assert!(house.git(&["status", "--porcelain"]).contains("M routines/news.md"));
}

/// DD-14, DD-16: of the state directory only the session history is committed.
#[test]
fn only_the_session_history_of_the_state_is_committed() {
    let house = TestRepository::new();
    let git = Git::start("git");
    git.commit(&house.write("state/sessions.json", "5f0c"), "no".to_owned());
    git.commit(&house.write("state/session_history.jsonl", "{}\n"), "session created: 5f0c".to_owned());
    git.finish();
    assert_eq!(house.log(), ["session created: 5f0c", "A\tstate/session_history.jsonl"]);
}

/// DD-12: a file outside of a repository is not committed.
#[test]
fn a_file_outside_of_a_repository_is_not_committed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.md");
    disk::replace(&RealDisk, &path, b"x").unwrap();
    let git = Git::start("git");
    git.commit(&path, "add".to_owned());
    git.finish();
    assert!(!dir.path().join(".git").exists());
}

/// B13, DD-17: a lock held by another process postpones commits and loses none.
#[test]
fn a_commit_waits_while_another_process_uses_git() {
    let house = TestRepository::new();
    let lock = house.data().join(".git/index.lock");
    disk::replace(&RealDisk, &lock, b"").unwrap();
    let git = Git::start("git");
    let mail = house.write("routines/mail.md", "a");
    git.commit(&mail, "first".to_owned());
    let gate = house.write("routines/gate.md", "b");
    disk::remove(&RealDisk, &lock).unwrap();
    git.commit(&gate, "second".to_owned());
    git.finish();
    assert_eq!(house.log(), ["first", "A\troutines/mail.md", "second", "A\troutines/gate.md"]);
}

/// B13, DD-17: a stale lock of a killed commit does not end the history. The next start removes it,
/// and changes that were not committed meanwhile are part of the next commit of their file.
#[test]
fn a_stale_lock_does_not_end_the_history() {
    let house = TestRepository::new();
    let branch = house.git(&["symbolic-ref", "HEAD"]);
    let locks = ["index.lock", "HEAD.lock", &format!("{}.lock", branch.trim())]
        .map(|name| house.write(&format!(".git/{name}"), ""));
    let made = RealDisk.stamp(&locks[2]).unwrap().unwrap().changed;
    let data = || house.data().to_owned();
    let after = |minutes: i64| -> Timestamp { made + SignedDuration::from_mins(minutes) };

    // Without the removal: the lock may be recent, or the process is a command and not the daemon.
    let starts: [&dyn Fn() -> Git; 3] = [
        &|| Git::start("git"),
        &|| Git::start_tracking(Arc::new(RealDisk), data(), "git", after(2)),
        &|| Git::start_tracking(Arc::new(RealDisk), data(), "git", after(-60)),
    ];
    for start in starts {
        let git = start();
        git.commit(&house.write("routines/mail.md", "a"), "never made".to_owned());
        git.finish();
        assert!(locks.iter().all(|lock| lock.exists()));
    }

    let git = Git::start_tracking(Arc::new(RealDisk), data(), "git", after(30));
    git.commit(&house.data().join("routines/mail.md"), "made".to_owned());
    git.finish();
    assert_eq!(house.log(), ["made", "A\troutines/mail.md"]);
    assert_eq!(house.git(&["show", "HEAD:routines/mail.md"]), "a");
}

/// B13, DD-12, DD-17: hooks and signatures of the user's git are not used, so they cannot fail a
/// commit.
#[test]
fn hooks_and_signatures_are_not_used() {
    let house = TestRepository::new();
    house.git(&["config", "commit.gpgSign", "true"]);
    house.git(&["config", "gpg.program", "false"]);
    let hook = house.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    Command::new("chmod").arg("755").arg(&hook).status().unwrap();
    let git = Git::start("git");
    git.commit(&house.write("routines/mail.md", "a"), "add".to_owned());
    git.finish();
    assert_eq!(house.log(), ["add", "A\troutines/mail.md"]);
}

/// B13, DD-17: without git, or with a broken one, everything else works.
#[test]
fn without_git_everything_else_works() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(ensure_repository(&RealDisk, dir.path(), "no-such-program"), Tracking::Absent);
    for program in ["no-such-program", "false"] {
        let git = Git::start(program);
        for n in 0..1_000 {
            git.commit(&dir.path().join(format!("{n}.md")), "add".to_owned());
        }
        git.finish();
    }
    let house = TestRepository::new();
    let git = Git::start("false");
    git.commit(&house.write("x.md", "x"), "add".to_owned());
    git.finish();
    assert!(house.data().join("x.md").exists());
}
