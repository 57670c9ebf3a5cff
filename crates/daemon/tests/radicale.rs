//! Setup of calendar and tasks on a real Radicale server.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;
use testkit::process::{Program, free_port, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// A Radicale server with one account. Killed on drop.
struct Radicale {
    server: Child,
    port: u16,
    _folder: TempDir,
}

#[expect(clippy::disallowed_methods, reason = "only the environment can give the path")]
fn python_path() -> PathBuf {
    match std::env::var_os("OLLIM_TEST_RADICALE") {
        Some(path) => path.into(),
        None => panic!("set OLLIM_TEST_RADICALE to a python that has radicale, or run `cargo xtask test`"),
    }
}

impl Radicale {
    /// Starts a server with one collection of each kind.
    fn start(kinds: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let port = free_port();
        std::fs::write(folder.path().join("users"), "me:canary-right\n").expect("a file");
        for kind in kinds {
            let place = folder.path().join("data/collection-root/me").join(kind.to_lowercase());
            std::fs::create_dir_all(&place).expect("a folder");
            let about = format!(
                "{{\"tag\": \"VCALENDAR\", \"D:displayname\": \"{kind}\", \"C:supported-calendar-component-set\": \"{kind}\"}}"
            );
            std::fs::write(place.join(".Radicale.props"), about).expect("a file");
        }
        let path = |name: &str| folder.path().join(name).display().to_string();
        let mut server = Command::new(python_path())
            .args(["-m", "radicale", "--config", "", "--logging-level", "info"])
            .args(["--server-hosts", &format!("127.0.0.1:{port}")])
            .args(["--storage-filesystem-folder", &path("data"), "--auth-type", "htpasswd"])
            .args(["--auth-htpasswd-filename", &path("users"), "--auth-htpasswd-encryption", "plain"])
            .args(["--auth-delay", "0"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("radicale starts");
        let mut log = BufReader::new(server.stderr.take().expect("its log")).lines();
        let ready = log.by_ref().any(|line| line.is_ok_and(|line| line.contains("server ready")));
        assert!(ready, "Radicale ended before it listened");
        // The log must be drained, or the server blocks when the pipe is full.
        std::thread::spawn(move || log.count());
        Self { server, port, _folder: folder }
    }

    fn run_setup(&self, program: &Program, password: &str) -> Output {
        let file = program.home().join("password");
        let url = format!("http://127.0.0.1:{}", self.port);
        std::fs::write(&file, password).expect("a file");
        let file = file.display().to_string();
        program.run(&[
            "setup",
            "caldav",
            "--url",
            &url,
            "--user",
            "me",
            "--password-file",
            &file,
            "--no-input",
        ])
    }
}

impl Drop for Radicale {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn stored_settings(data: &Path) -> String {
    std::fs::read_to_string(data.join("state/environment")).unwrap_or_default()
}

/// Calendar and tasks are connected after a successful sign-in, and used from then on; a wrong
/// password is reported and changes nothing.
#[test]
#[ignore = "needs Radicale; cargo xtask test runs it"]
fn calendar_server_is_connected_after_a_successful_sign_in() {
    let radicale = Radicale::start(&["VEVENT", "VTODO"]);
    let program = Program::offline(BINARY);
    let wrong = radicale.run_setup(&program, "canary-wrong");
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        stderr(&wrong).contains("Nothing was changed.") && stored_settings(program.data()).is_empty(),
        "{}",
        stderr(&wrong)
    );
    let done = radicale.run_setup(&program, "canary-right");
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let expected = format!(
        "✓ caldav  calendar by caldav, 0 events in the next day; tasks by caldav, 0 open tasks\n  kept in {}, which only \
         you can read\n",
        program.data().join("state/caldav.password").display()
    );
    assert_eq!(stdout(&done), expected, "{}", stderr(&done));
    assert!(!stored_settings(program.data()).contains("canary"), "{}", stored_settings(program.data()));
    assert_eq!(program.run(&["tasks", "add", "buy", "milk"]).status.code(), Some(0));
    assert!(stdout(&program.run(&["doctor"])).contains("✓ tasks    by caldav, 1 open task\n"));
    assert!(stdout(&program.run(&["setup", "caldav", "--no-input"])).contains("nothing to do"));
}

/// If the server has only a calendar, tasks stay in a local file, and the setup says so.
#[test]
#[ignore = "needs Radicale; cargo xtask test runs it"]
fn tasks_stay_in_a_file_if_the_server_has_none() {
    let radicale = Radicale::start(&["VEVENT"]);
    let program = Program::offline(BINARY);
    let done = radicale.run_setup(&program, "canary-right");
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).contains("tasks stay in a file of yours"), "{}", stdout(&done));
    assert!(
        stored_settings(program.data()).contains("OLLIM_TASKS=local\n"),
        "{}",
        stored_settings(program.data())
    );
}
