//! A fresh machine: an empty home, and a fake systemd that really starts the program.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use testkit::background_runtime::BackgroundRuntime;
use testkit::clock::VirtualClock;
use testkit::fake_discord::{FakeDiscord, Ownership, Server, Setup, serve};
use testkit::process::Program;
use tokio::net::TcpListener;

pub const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

pub fn parse_json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("no JSON: {}", String::from_utf8_lossy(&output.stdout)))
}

pub fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

/// A fake systemd. Kills its program on drop.
pub struct FakeSystemd {
    directory: TempDir,
}

impl FakeSystemd {
    /// Creates a fake systemd on the PATH of `program`.
    pub fn for_program(program: &mut Program) -> Self {
        let place = tempfile::tempdir().expect("a place");
        let fake = Path::new(BINARY).with_file_name("examples").join("systemd");
        assert!(fake.exists(), "build it first: cargo build -p ollim-bot --example systemd");
        let bin = place.path().join("bin");
        std::fs::create_dir(&bin).expect("a directory");
        for name in ["systemctl", "loginctl", "journalctl"] {
            symlink(&fake, bin.join(name)).expect("a link");
        }
        std::fs::write(place.path().join("home"), program.home().display().to_string()).expect("a file");
        program.set_env("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
        program.set_env("PLAYED_SYSTEMD", &place.path().display().to_string());
        Self { directory: place }
    }

    /// Returns the directory with its state.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Enables a behavior, with a file of this name.
    pub fn enable(&self, name: &str) -> &Self {
        std::fs::write(self.directory.path().join(name), "").expect("a file");
        self
    }

    /// Disables a behavior.
    pub fn disable(&self, name: &str) {
        std::fs::remove_file(self.directory.path().join(name)).expect("a file");
    }

    /// Returns whether a state file with this name exists.
    pub fn has(&self, name: &str) -> bool {
        self.directory.path().join(name).exists()
    }

    /// Sets the watchdog timeout in microseconds.
    pub fn set_watchdog(&self, micros: u64) -> &Self {
        std::fs::write(self.directory.path().join("watchdog"), micros.to_string()).expect("a file");
        self
    }

    /// Reads a state file.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.directory.path().join(name)).unwrap_or_default()
    }

    /// Returns the process that it runs.
    pub fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.read("pid").trim().parse().ok()?)
    }

    /// Waits until `is` returns true.
    pub fn wait_until(&self, description: &str, condition: impl Fn(&Self) -> bool) {
        let reached = testkit::process::block_on(async {
            let poll = async {
                while !condition(self) {
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
            };
            tokio::time::timeout(testkit::TEST_TIMEOUT, poll).await.is_ok()
        });
        assert!(reached, "{description}: it never is so.\n{}\n{}", self.read("heard"), self.read("journal"));
    }
}

impl Drop for FakeSystemd {
    fn drop(&mut self) {
        std::fs::write(self.directory.path().join("stop"), "").ok();
        if let Some(pid) = self.pid() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Creates a program on a fresh machine, with only standard shell variables.
pub fn fresh_program() -> Program {
    let mut program = Program::new(BINARY);
    program
        .set_env("OLLIM_TIMEZONE", "")
        .set_env("OLLIM_HTTP", "")
        .set_env("OLLIM_DATA_DIR", "")
        .set_env("USER", "ann");
    let data = program.home().join(".ollim-bot");
    program.set_data_dir(data);
    program
}

/// Runs `program` with stdin closed.
pub fn run(program: &Program, arguments: &[&str]) -> Output {
    let mut command: Command = program.command(arguments);
    command.stdin(std::process::Stdio::null());
    testkit::process::run_to_end(&mut command)
}

/// Writes a private file into `state`, like an earlier setup.
pub fn write_state_file(program: &Program, name: &str, text: &str) -> PathBuf {
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
pub fn write_secret(program: &Program, text: &str) -> PathBuf {
    let path = program.home().join("secret.txt");
    std::fs::write(&path, text).expect("a file");
    path
}

/// A fake Discord on loopback, in its own thread.
pub struct DiscordOnLoopback {
    pub discord: FakeDiscord,
    server: Option<Server>,
    runtime: BackgroundRuntime,
}

impl DiscordOnLoopback {
    pub fn open() -> Self {
        Self::owned_by(Ownership::User)
    }

    pub fn owned_by(ownership: Ownership) -> Self {
        let runtime = BackgroundRuntime::start();
        let (discord, server) = runtime.run(async move {
            #[expect(clippy::disallowed_methods, reason = "the program runs in real time")]
            let start = jiff::Zoned::now();
            let discord =
                FakeDiscord::new(Setup { ownership, ..Setup::default() }, Arc::new(VirtualClock::new(start)));
            let server = serve(discord.clone(), TcpListener::bind("127.0.0.1:0").await.unwrap()).unwrap();
            (discord, server)
        });
        Self { discord, server: Some(server), runtime }
    }

    pub fn api_base(&self) -> String {
        format!("{}/api/v10", self.server.as_ref().expect("a server").url())
    }
}

impl Drop for DiscordOnLoopback {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.run(async move { server.stop().await });
        }
    }
}
