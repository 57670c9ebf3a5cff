//! Updates: a new program is installed only if its self-check succeeds, and an interrupted update
//! leaves a working one.
#![expect(clippy::unwrap_used, reason = "the setup of a test must succeed")]

mod rollback;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testkit::process::{Program, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// A program in a git checkout whose origin can publish newer versions.
struct UpdateFixture {
    program: Program,
}

/// Returns a version of the fake program, which prints its version, and runs `check` as its
/// self-check.
fn script(version: &str, check: &str) -> String {
    format!("#!/bin/sh\ncase \"$*\" in *self-check*) {check};; *) echo {version};; esac\n")
}

impl UpdateFixture {
    fn new() -> Self {
        let fixture = Self { program: Program::offline(BINARY) };
        let home = fixture.program.home().to_owned();
        fixture.git(&home, &["init", "--quiet", "--initial-branch=main", "origin"]);
        fixture.publish("old", "echo ready");
        fixture.git(&home, &["clone", "--quiet", "origin", "checkout"]);
        std::fs::create_dir_all(home.join("bin")).unwrap();
        std::fs::write(fixture.installed_path(), script("old", "echo ready")).unwrap();
        std::fs::set_permissions(fixture.installed_path(), PermissionsExt::from_mode(0o755)).unwrap();
        fixture.write_settings("mkdir -p target/renewal && cp program target/renewal/ollim-bot");
        fixture
    }

    /// Writes the settings, with the build command.
    fn write_settings(&self, build: &str) {
        let home = self.program.home();
        let text = format!(
            "[update]\ncheckout = \"{0}/checkout\"\nprogram = \"{0}/bin/ollim-bot\"\nbuild = '''{build}'''\nbinary = \"target/renewal/ollim-bot\"\n",
            home.display()
        );
        std::fs::create_dir_all(self.program.data()).unwrap();
        std::fs::write(self.program.data().join("settings.toml"), text).unwrap();
    }

    fn installed_path(&self) -> PathBuf {
        self.program.home().join("bin/ollim-bot")
    }

    /// Publishes a version whose self-check runs `check`.
    fn publish(&self, version: &str, check: &str) {
        let origin = self.program.home().join("origin");
        std::fs::write(origin.join("program"), script(version, check)).unwrap();
        self.git(&origin, &["add", "program"]);
        self.git(&origin, &["commit", "--quiet", "-m", &format!("make it {version}")]);
    }

    fn git(&self, dir: &Path, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=x", "-c", "user.email=x@localhost"]).args(arguments).current_dir(dir);
        let output = git.env("HOME", self.program.home()).env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Returns the version of the installed program.
    fn version(&self) -> String {
        let output = Command::new(self.installed_path()).arg("--version").output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn update(&self) -> (bool, String) {
        let output = self.program.run(&["update"]);
        (output.status.success(), stdout(&output) + &stderr(&output))
    }

    fn update_state(&self) -> Value {
        let text = std::fs::read(self.program.data().join("state/update.json")).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn head(&self) -> String {
        self.git(&self.program.home().join("checkout"), &["rev-parse", "HEAD"])
    }
}

/// UP-1: without a checkout, an update is refused with the reason.
#[test]
fn update_without_a_checkout_is_refused() {
    let program = Program::offline(BINARY);
    std::fs::create_dir_all(program.data()).unwrap();
    std::fs::write(program.data().join("settings.toml"), "[update]\ncheckout = \"none\"\n").unwrap();
    let output = program.run(&["update"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("i do not run from a git checkout"), "{}", stderr(&output));
    let running = program.start();
    let refused = format!("{:?}", running.command("/update"));
    assert!(refused.contains("i do not run from a git checkout"), "{refused}");
    running.terminate();
}

/// UP-2, UP-5, UP-7, L2: a newer version is listed, built and installed; local commits are no
/// update.
#[test]
fn newer_version_is_built_and_installed() {
    let fixture = UpdateFixture::new();
    assert_eq!(fixture.update(), (true, "already up to date.\n".to_owned()));
    let checkout = fixture.program.home().join("checkout");
    fixture.git(&checkout, &["commit", "--quiet", "--allow-empty", "-m", "mine"]);
    assert_eq!(fixture.update(), (true, "already up to date.\n".to_owned()), "we are ahead");
    fixture.git(&checkout, &["reset", "--quiet", "--hard", "origin/main"]);
    for n in 0..6 {
        fixture.publish(&format!("new-{n}"), "echo ready");
    }
    let check = stdout(&fixture.program.run(&["update", "--check"]));
    assert!(check.contains("there is a newer version:") && check.contains("make it new-5"), "{check}");
    assert!(check.ends_with("and 1 more\n"), "{check}");
    assert_eq!(fixture.version(), "old", "a look changes nothing");
    let (done, output) = fixture.update();
    assert!(done && output.contains("the next start is the new version"), "{output}");
    assert_eq!(fixture.version(), "new-5");
    assert_eq!(fixture.update_state()["stage"], "unproven");
    let previous = std::fs::read_to_string(fixture.installed_path().with_extension("previous")).unwrap();
    assert!(previous.contains("echo old"));
}

/// UP-7, L2: a failed update leaves program and checkout unchanged, and reports the reason.
#[test]
fn failed_update_changes_nothing() {
    let check = |build: Option<&str>, ready: &str, words: &str| {
        let fixture = UpdateFixture::new();
        let head = fixture.head();
        fixture.publish("new", ready);
        if let Some(build) = build {
            fixture.write_settings(build);
        }
        let (done, output) = fixture.update();
        assert!(!done && output.contains(words), "{output}");
        assert_eq!(
            (fixture.version().as_str(), fixture.head(), fixture.update_state()),
            ("old", head, Value::Null),
            "{output}"
        );
        assert!(!fixture.program.home().join("bin/ollim-bot.new").exists());
        // The next attempt finds it again.
        assert!(stdout(&fixture.program.run(&["update", "--check"])).contains("make it new"));
    };
    check(Some("echo no compiler >&2; exit 7"), "echo ready", "ended with 7: no compiler");
    check(Some("true"), "echo ready", "what was built (target/renewal/ollim-bot) cannot be taken");
    check(None, "exit 3", "the new program is not well");
    check(None, "echo hm", "did not say that it is ready, but: hm");
}

/// L2: an unproven version is not updated, because the previous program is the last one known to
/// work.
#[test]
fn update_waits_until_the_last_one_is_proven() {
    let fixture = UpdateFixture::new();
    fixture.publish("new", "echo ready");
    assert!(fixture.update().0);
    let state = || {
        let mark = std::fs::read(fixture.program.data().join("state/update.json")).unwrap();
        (mark, std::fs::read(fixture.installed_path().with_extension("previous")).unwrap(), fixture.head())
    };
    let before = state();
    fixture.publish("newer", "echo ready");
    let (done, output) = fixture.update();
    assert!(!done && output.contains("the last update has still to go on for a minute"), "{output}");
    assert_eq!((state(), fixture.version().as_str()), (before, "new"));
    assert!(stdout(&fixture.program.run(&["update", "--check"])).contains("make it newer"));
}

/// L2, UP-8: a version that was rolled back can be requested again; if that attempt fails, it stays
/// refused.
#[test]
fn rolled_back_version_can_be_requested_again() {
    let fixture = UpdateFixture::new();
    let from = fixture.head();
    fixture.publish("new", "echo ready");
    assert!(fixture.update().0);
    let mut mark = fixture.update_state();
    mark["starts"] = 2.into();
    std::fs::write(fixture.program.data().join("state/update.json"), mark.to_string()).unwrap();
    assert_eq!(stdout(&fixture.program.run(&["run", "--no-chat"])).trim(), "old", "it became the one before");
    let running = fixture.program.start();
    let notices = running.get("/api/health").unwrap()["notices"].to_string();
    assert!(notices.contains("i went back to the one before"), "{notices}");
    running.terminate();
    let refused = (fixture.update_state(), fixture.head());
    assert_eq!((&refused.0["stage"], &refused.0["from"]), (&"refused".into(), &from.clone().into()));

    fixture.write_settings("exit 7");
    assert!(!fixture.update().0);
    assert_eq!(
        (fixture.update_state(), fixture.head(), fixture.version()),
        (refused.0, refused.1, "old".to_owned())
    );
    fixture.write_settings("mkdir -p target/renewal && cp program target/renewal/ollim-bot");
    let (done, output) = fixture.update();
    assert!(done && output.contains("make it new"), "{output}");
    assert_eq!(
        (fixture.version().as_str(), fixture.update_state()["from"].as_str()),
        ("new", Some(from.as_str()))
    );
}

impl UpdateFixture {
    /// Creates a signing key. Returns its line for git's file of allowed signers.
    fn create_key(&self, name: &str) -> String {
        let file = self.program.home().join(name);
        let mut make = Command::new("ssh-keygen");
        let made = make.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"]).arg(&file).status();
        assert!(made.unwrap().success(), "ssh-keygen is of Debian's openssh-client");
        let public = std::fs::read_to_string(file.with_extension("pub")).unwrap();
        format!("{name}@localhost {public}")
    }

    /// Publishes a version signed with the key.
    fn publish_signed(&self, version: &str, key: &str) {
        self.publish(version, "echo ready");
        let key = format!("user.signingkey={}", self.program.home().join(key).display());
        let sign = ["-c", "gpg.format=ssh", "-c", &key, "commit", "--quiet", "--amend", "--no-edit", "-S"];
        self.git(&self.program.home().join("origin"), &sign);
    }
}

/// L2: if signatures are required, a version without one, or signed by an unknown key, is refused
/// without changes; one signed by an allowed key is installed.
#[test]
fn only_signed_versions_are_installed() {
    let fixture = UpdateFixture::new();
    let known = fixture.create_key("known");
    let _ = fixture.create_key("stranger");
    let signers = fixture.program.home().join("signers");
    std::fs::write(&signers, known).unwrap();
    let settings = fixture.program.data().join("settings.toml");
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, format!("{text}signers = \"{}\"\n", signers.display())).unwrap();
    let head = fixture.head();
    let refused = |fixture: &UpdateFixture| {
        let (done, output) = fixture.update();
        assert!(!done && output.contains("is not signed by anybody in"), "{output}");
        assert_eq!(
            (fixture.version().as_str(), fixture.head(), fixture.update_state()),
            ("old", head.clone(), Value::Null)
        );
    };
    fixture.publish("unsigned", "echo ready");
    refused(&fixture);
    fixture.publish_signed("strange", "stranger");
    refused(&fixture);
    fixture.publish_signed("new", "known");
    let (done, output) = fixture.update();
    assert!(done && fixture.version() == "new", "{output}");
    std::fs::remove_file(fixture.program.data().join("state/update.json")).unwrap();
    std::fs::remove_file(&signers).unwrap();
    fixture.publish_signed("newer", "known");
    let (done, output) = fixture.update();
    assert!(!done && output.contains("is not signed by anybody in"), "who may sign is not known: {output}");
}

/// L2: a sample of the crash points of the next test.
#[test]
fn working_program_remains_after_some_crashes() {
    let last = crash_at(usize::MAX).unwrap_or_default();
    assert_eq!(last, 0);
    // At the last of these points the state file is written, but the new program is not installed
    // yet.
    let crashed = [3, 9, 17, 25, 31, 61].into_iter().filter(|point| crash_at(*point).is_some()).count();
    assert!(crashed == 6, "an update has hardly touched the disk: {crashed} crashes");
}

/// L2: after a crash at any point of an update a working program is installed, and the next attempt
/// completes the update.
#[test]
#[ignore = "a hundred updates, one for each touch of the disk, take minutes"]
fn working_program_remains_after_any_crash() {
    let points = (0..).take_while(|point| crash_at(*point).is_some()).count();
    assert!(points >= 40, "an update has hardly touched the disk: {points} points");
}

/// Updates with a crash at `point`. Returns None if that point was not reached.
fn crash_at(point: usize) -> Option<usize> {
    let mut fixture = UpdateFixture::new();
    fixture.publish("new", "echo ready");
    let crashing = Path::new(BINARY).with_file_name("examples").join("crashing");
    assert!(crashing.exists(), "build it first: cargo build -p ollim-bot --examples");
    fixture.program.replace_binary(crashing).set_env("CRASH_AT", &point.to_string());
    let ended = fixture.program.run(&["update"]);
    assert!(["old", "new"].contains(&fixture.version().as_str()), "point {point}: {:?}", fixture.version());
    fixture.program.replace_binary(BINARY).set_env("CRASH_AT", "");
    if fixture.update_state()["stage"] != "unproven" || fixture.version() == "old" {
        let (done, output) = fixture.update();
        assert!(done, "point {point}: {output}");
    }
    assert_eq!(fixture.version(), "new", "point {point}");
    (!ended.status.success()).then_some(point)
}

/// SL-14, UP-9, UP-10, IF-37: `/restart` re-executes the program in the same process, is recorded
/// in the history, and leaks no files; it is refused while a fork is open.
#[test]
fn restart_keeps_the_process_and_leaks_nothing() {
    let program = Program::offline(BINARY);
    let running = program.start();
    running.send_and_wait("hello").unwrap();
    running.command("/fork").unwrap();
    let refused = format!("{:?}", running.command("/restart"));
    assert!(refused.contains("a side conversation is open"), "{refused}");
    running.command("/exit").unwrap();
    let before = open_files(running.pid());
    let mut events = running.events().unwrap();
    let output = running.command("/restart").unwrap();
    assert!(output.to_string().contains("back in a few seconds"), "{output}");
    // The connection ends with the old process image.
    while events.next().is_some() {}
    let health = wait_for_health(&running);
    assert_eq!(health["pid"], running.pid());
    running.send_and_wait("hello again").unwrap();
    assert!(open_files(running.pid()) <= before + 2, "{} after {before}", open_files(running.pid()));
    running.terminate();
    let history = std::fs::read_to_string(program.data().join("state/session_history.jsonl")).unwrap();
    assert_eq!(history.matches("\"restarting\"").count(), 1, "{history}");
}

/// UP-8, UP-7, UP-9: `/update` reports that there is no newer version, or the failure; otherwise
/// the process re-executes the new program, and announces it.
#[test]
fn update_reexecutes_the_new_program() {
    let mut fixture = UpdateFixture::new();
    std::fs::copy(BINARY, fixture.installed_path()).unwrap();
    let installed = fixture.installed_path();
    fixture.program.replace_binary(installed);
    fixture.write_settings(&format!(
        "grep -q old program && exit 3; mkdir -p target/renewal && cp {BINARY} target/renewal/ollim-bot"
    ));
    let running = fixture.program.start();
    assert!(running.command("/update").unwrap().to_string().contains("already up to date"));

    fixture.publish("old but later", "echo ready");
    let mut events = running.events().unwrap();
    let output = running.command("/update").unwrap().to_string();
    assert!(output.contains("updating.") && output.contains("make it old but later"), "{output}");
    let failed = events.find(|event| format!("{event:?}").contains("the update failed")).expect("a notice");
    assert!(format!("{failed:?}").contains("ended with 3"), "{failed:?}");

    fixture.publish("new", "echo ready");
    running.command("/update").unwrap();
    // The connection ends with the old program.
    let output: Vec<String> = events.map(|event| format!("{event:?}")).collect();
    assert!(
        output.iter().any(|event| event.contains("updated; i restart.") && event.contains("make it new")),
        "{output:?}"
    );
    let health = wait_for_health(&running);
    assert_eq!(health["pid"], running.pid());
    assert!(health["notices"].to_string().contains("i am the new version now"), "{health}");
    running.send_and_wait("hello").unwrap();
    running.terminate();
}

fn open_files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

/// Polls until the program answers; the watchdog of the tests ends it otherwise.
fn wait_for_health(running: &testkit::process::RunningProgram) -> Value {
    loop {
        if let Ok(health) = running.get("/api/health") {
            return health;
        }
        std::thread::yield_now();
    }
}
