//! Memory, open files and threads of the connected program over simulated days.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use testkit::TEST_TIMEOUT;
use testkit::background_runtime::BackgroundRuntime;
use testkit::clock::VirtualClock;
use testkit::fake_discord::{FakeDiscord, Server, Setup, serve};
use testkit::model_server::ScriptedReply;
use testkit::process::{BackgroundModelServer, EventStream, Program, RunningProgram, Signal, read_tree};
use tokio::net::TcpListener;

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");
const START: &str = "2026-11-16T08:00:00+01:00[Europe/Madrid]";
/// The clock step in seconds.
const STEP: u32 = 15 * 60;
const STEPS_A_DAY: u32 = 24 * 3600 / STEP;

/// Typical jobs: an hourly check, a daily one with a persistent session, and a daily message.
const JOBS: [(&str, &str); 3] = [
    (
        "routines/hourly.md",
        "---\nid: hourly\ncron: 5 * * * *\nbackground: true\nisolated: true\n---\nlook around\n",
    ),
    (
        "routines/watch.md",
        "---\nid: watch\ncron: 30 9 * * *\nbackground: true\nsession: persistent\n---\nwatch the price\n",
    ),
    ("routines/morning.md", "---\nid: morning\ncron: 0 8 * * *\n---\ngood morning\n"),
];

/// Resource usage of the idle program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ResourceUsage {
    kilobytes: u64,
    /// Anonymous memory: without the mapped executable.
    anonymous_kilobytes: u64,
    files: usize,
    threads: u64,
}

/// The program with a fake Discord and an open page.
struct ConnectedProgram {
    program: Program,
    running: RunningProgram,
    _page: EventStream,
    _model_server: BackgroundModelServer,
    _server: Server,
    _server_runtime: BackgroundRuntime,
}

impl ConnectedProgram {
    fn start() -> Self {
        let model_server = BackgroundModelServer::start();
        model_server.model().answering(|_| ScriptedReply::text("so it is"));
        let runtime = BackgroundRuntime::start();
        #[expect(clippy::disallowed_methods, reason = "the fake Discord runs in real time")]
        let start = jiff::Zoned::now();
        let (discord, server) = runtime.run(async move {
            let discord = FakeDiscord::new(Setup::default(), Arc::new(VirtualClock::new(start)));
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            (discord.clone(), serve(discord, listener).expect("a server"))
        });
        let mut program = Program::with_model(shifted_binary(), &model_server);
        program.set_env("DISCORD_TOKEN", &discord.token());
        program.set_env("DISCORD_API_BASE", &format!("{}/api/v10", server.url()));
        program.set_env("SHIFTED_TO", START).set_env("SHIFTED_BY", &STEP.to_string());
        for (file, text) in JOBS {
            let path = program.data().join(file);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        }
        let running = program.start();
        let page = running.events().expect("a page");
        let connected = runtime.run(async move {
            let connected = |discord: &FakeDiscord| (!discord.log().identifies.is_empty()).then_some(());
            discord.wait_for(TEST_TIMEOUT, connected).await
        });
        connected.expect("it connects");
        Self {
            program,
            running,
            _page: page,
            _model_server: model_server,
            _server: server,
            _server_runtime: runtime,
        }
    }

    /// Simulates one day, and returns the resource usage after all jobs have ended.
    fn run_day(&self) -> ResourceUsage {
        for _ in 0..STEPS_A_DAY {
            self.running.signal(Signal::USR1);
            self.wait_until_idle();
        }
        self.resource_usage()
    }

    fn wait_until_idle(&self) {
        loop {
            // The answer comes after all earlier decisions; the second one comes after the work
            // that these started.
            for _ in 0..2 {
                self.running.command("/status").expect("it is there");
            }
            if running_jobs(self.program.data()) == 0 {
                return;
            }
        }
    }

    fn resource_usage(&self) -> ResourceUsage {
        let proc = format!("/proc/{}", self.running.pid());
        let status = std::fs::read_to_string(format!("{proc}/status")).expect("a process");
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a number");
            line.trim().trim_end_matches(" kB").parse().expect("a number")
        };
        let files = std::fs::read_dir(format!("{proc}/fd")).expect("its files").count();
        ResourceUsage {
            kilobytes: number("VmRSS:"),
            anonymous_kilobytes: number("RssAnon:"),
            files,
            threads: number("Threads:"),
        }
    }
}

/// The example program with the shifted clock.
fn shifted_binary() -> PathBuf {
    let example = Path::new(BINARY).with_file_name("examples").join("shifted");
    assert!(example.exists(), "build it first: cargo build -p ollim-bot --examples");
    example
}

/// Counts the running jobs.
fn running_jobs(data: &Path) -> usize {
    let journal = Connection::open(data.join("state/journal.db")).expect("a log");
    let sql = "SELECT count(*) FROM occurrences WHERE stage IN ('running', 'asked')";
    journal.query_row(sql, [], |row| row.get(0)).expect("a count")
}

/// Returns the files of `state` and `.git` with their sizes in kilobytes, largest first.
fn state_file_sizes(data: &Path) -> Vec<(usize, PathBuf)> {
    let files = ["state", ".git"].into_iter().flat_map(|folder| read_tree(&data.join(folder)));
    let mut sizes: Vec<_> = files.map(|(path, bytes)| (bytes.len() / 1024, path)).collect();
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    sizes
}

/// H1: a connected program with an open page stays small, and a day does not make it grow. The
/// debug binary is several times as large as a release, so total memory is bounded by relative
/// growth, and anonymous memory more strictly. `cargo xtask bench` measures the release.
#[test]
fn day_does_not_increase_memory() {
    let connected = ConnectedProgram::start();
    connected.wait_until_idle();
    let idle = connected.resource_usage();
    assert!(idle.kilobytes < 65_000 && idle.anonymous_kilobytes < 10_000, "{idle:?}");
    let first = connected.run_day();
    let second = connected.run_day();
    assert!(second.kilobytes < first.kilobytes * 105 / 100, "{idle:?} {first:?} {second:?}");
    // The number of connections varies; a leak of one file per job would be visible.
    assert!(second.files <= idle.files + 10, "{idle:?} {first:?} {second:?}");
    // Idle threads of the blocking pool end after a timeout.
    assert!(second.threads <= idle.threads.max(first.threads), "{idle:?} {first:?} {second:?}");
}

/// H1, B12: ninety days do not make it grow, and its files stay small.
#[test]
#[ignore = "ninety days take some minutes"]
fn ninety_days_do_not_increase_memory() {
    let connected = ConnectedProgram::start();
    let days: Vec<ResourceUsage> = (0..90).map(|_| connected.run_day()).collect();
    // By day ten all occasional work has run at least once, such as backups and repacking. The
    // remaining growth of about 15 KB per day comes from the two continuing conversations (main and
    // the persistent routine): their entries in the journal's path cache and the bytes of their
    // last requests in the models' `PrefixCache`, which make the next turn cheap. The hourly check
    // alone adds nothing. Compaction at four fifths of the context window frees them, and
    // `CacheLimits` bounds the bytes in any case.
    let early = days[9];
    let late = days[89];
    assert!(late.kilobytes < early.kilobytes * 105 / 100, "{days:?}");
    // The number of connections varies, so minima are compared.
    let fewest = |days: &[ResourceUsage]| days.iter().map(|holds| holds.files).min();
    assert!(fewest(&days[60..]) <= fewest(&days[..5]).map(|files| files + 2), "{days:?}");
    assert_eq!(late.threads, early.threads, "{days:?}");
    // Stops the program, so that no file changes while it is measured.
    let ConnectedProgram { program, running, .. } = connected;
    running.terminate();
    let files = state_file_sizes(program.data());
    let total: usize = files.iter().map(|(size, _)| size).sum();
    assert!(total < 50_000, "{total} KB of state: {:?}", &files[..files.len().min(20)]);
}
