//! A fresh machine: an empty home, and a fake systemd that really starts the program.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use testkit::clock::VirtualClock;
use testkit::discord::{Discord, Ownership, Server, Setup, serve};
use testkit::elsewhere::Elsewhere;
use testkit::kill::Program;
use tokio::net::TcpListener;

pub const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

pub fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("no JSON: {}", String::from_utf8_lossy(&output.stdout)))
}

pub fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

/// A fake systemd. Kills its program on drop.
pub struct Systemd {
    place: TempDir,
}

impl Systemd {
    /// Creates a fake systemd on the PATH of `program`.
    pub fn for_program(program: &mut Program) -> Self {
        let place = tempfile::tempdir().expect("a place");
        let played = Path::new(BINARY).with_file_name("examples").join("systemd");
        assert!(played.exists(), "build it first: cargo build -p ollim-bot --example systemd");
        let bin = place.path().join("bin");
        std::fs::create_dir(&bin).expect("a directory");
        for name in ["systemctl", "loginctl", "journalctl"] {
            symlink(&played, bin.join(name)).expect("a link");
        }
        std::fs::write(place.path().join("home"), program.home().display().to_string()).expect("a file");
        program.set("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
        program.set("PLAYED_SYSTEMD", &place.path().display().to_string());
        Self { place }
    }

    /// Returns the directory with its state.
    pub fn place(&self) -> &Path {
        self.place.path()
    }

    /// Enables a behavior, with a file of this name.
    pub fn is(&self, name: &str) -> &Self {
        std::fs::write(self.place.path().join(name), "").expect("a file");
        self
    }

    /// Disables a behavior.
    pub fn is_not(&self, name: &str) {
        std::fs::remove_file(self.place.path().join(name)).expect("a file");
    }

    /// Returns whether a state file with this name exists.
    pub fn has(&self, name: &str) -> bool {
        self.place.path().join(name).exists()
    }

    /// Sets the watchdog timeout in microseconds.
    pub fn watches_every(&self, micros: u64) -> &Self {
        std::fs::write(self.place.path().join("watchdog"), micros.to_string()).expect("a file");
        self
    }

    /// Reads a state file.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.place.path().join(name)).unwrap_or_default()
    }

    /// Returns the process that it runs.
    pub fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.read("pid").trim().parse().ok()?)
    }

    /// Waits until `is` returns true.
    pub fn until(&self, what: &str, is: impl Fn(&Self) -> bool) {
        let seen = testkit::kill::wait(async {
            let look = async {
                while !is(self) {
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
            };
            tokio::time::timeout(testkit::PATIENCE, look).await.is_ok()
        });
        assert!(seen, "{what}: it never is so.\n{}\n{}", self.read("heard"), self.read("journal"));
    }
}

impl Drop for Systemd {
    fn drop(&mut self) {
        std::fs::write(self.place.path().join("stop"), "").ok();
        if let Some(pid) = self.pid() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Creates a program on a fresh machine, with only standard shell variables.
pub fn fresh() -> Program {
    let mut program = Program::new(BINARY);
    program.set("OLLIM_TIMEZONE", "").set("OLLIM_HTTP", "").set("OLLIM_DATA_DIR", "").set("USER", "ann");
    let data = program.home().join(".ollim-bot");
    program.keep_in(data);
    program
}

/// Runs `program` with stdin closed.
pub fn run(program: &Program, arguments: &[&str]) -> Output {
    let mut command: Command = program.command(arguments);
    command.stdin(std::process::Stdio::null());
    testkit::kill::finish(&mut command)
}

/// Writes a private file into `state`, like an earlier setup.
pub fn keep(program: &Program, name: &str, text: &str) -> PathBuf {
    let state = program.data().join("state");
    std::fs::create_dir_all(&state).expect("a directory");
    let path = state.join(name);
    std::fs::write(&path, text).expect("a file");
    for (place, mode) in [(program.data(), 0o700), (&state, 0o700), (&path, 0o600)] {
        std::fs::set_permissions(place, std::fs::Permissions::from_mode(mode)).expect("a file of ours");
    }
    path
}

/// Writes a secret into a file of `home`.
pub fn secret(program: &Program, text: &str) -> PathBuf {
    let path = program.home().join("secret.txt");
    std::fs::write(&path, text).expect("a file");
    path
}

/// A fake Discord on loopback, in its own thread.
pub struct PlayedDiscord {
    pub discord: Discord,
    server: Option<Server>,
    elsewhere: Elsewhere,
}

impl PlayedDiscord {
    pub fn open() -> Self {
        Self::owned_by(Ownership::Person)
    }

    pub fn owned_by(ownership: Ownership) -> Self {
        let elsewhere = Elsewhere::open();
        let (discord, server) = elsewhere.run(async move {
            #[expect(clippy::disallowed_methods, reason = "the program runs in real time")]
            let start = jiff::Zoned::now();
            let discord =
                Discord::new(Setup { ownership, ..Setup::default() }, Arc::new(VirtualClock::new(start)));
            let server = serve(discord.clone(), TcpListener::bind("127.0.0.1:0").await.unwrap()).unwrap();
            (discord, server)
        });
        Self { discord, server: Some(server), elsewhere }
    }

    pub fn base(&self) -> String {
        format!("{}/api/v10", self.server.as_ref().expect("a server").url())
    }
}

impl Drop for PlayedDiscord {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.elsewhere.run(async move { server.stop().await });
        }
    }
}
