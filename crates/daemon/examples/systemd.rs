//! A fake systemd: `systemctl`, `loginctl` and `journalctl`, depending on the name it is called
//! with. It really starts the program of the unit, receives its notifications and restarts it after
//! a failure. Only for tests.
#![expect(clippy::expect_used, reason = "a fake that cannot continue stops the test at once")]

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Poll interval.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Exit codes after which our unit is not restarted.
const FINAL_EXIT_CODES: [i32; 4] = [0, 2, 75, 78];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let name = Path::new(&words[0]).file_name().map(|name| name.to_string_lossy().into_owned());
    let systemd = FakeSystemd(state_dir());
    let rest: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    match (name.as_deref(), rest.as_slice()) {
        (_, ["supervise"]) => systemd.supervise(),
        (Some("systemctl"), ["--user", rest @ ..]) => systemd.systemctl(rest),
        (Some("systemctl"), ["is-system-running"]) => {
            print(if systemd.has("not-booted") { "offline\n" } else { "running\n" });
            ExitCode::SUCCESS
        }
        (Some("loginctl"), rest) => systemd.loginctl(rest),
        (Some("journalctl"), _) => {
            print(&systemd.read("journal"));
            ExitCode::SUCCESS
        }
        _ => ExitCode::FAILURE,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test has no other way to pass the state directory to a process"
)]
fn state_dir() -> PathBuf {
    std::env::var_os("PLAYED_SYSTEMD").map(PathBuf::from).expect("PLAYED_SYSTEMD")
}

fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn fail(text: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{text}");
    ExitCode::FAILURE
}

/// The directory with the state of the fake systemd.
struct FakeSystemd(PathBuf);

impl FakeSystemd {
    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).expect("room on the stage");
    }

    fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    fn unit(&self) -> String {
        let home = PathBuf::from(self.read("home").trim());
        std::fs::read_to_string(home.join(".config/systemd/user/ollim-bot.service")).unwrap_or_default()
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.read("pid").trim().parse().ok()?)
    }

    fn systemctl(&self, words: &[&str]) -> ExitCode {
        if self.has("no-bus") {
            return fail("Failed to connect to user scope bus via local transport: No medium found");
        }
        if self.has("no-systemd") {
            return fail("System has not been booted with systemd as init system (PID 1). Can't operate.");
        }
        match words {
            ["show", ..] => self.show(),
            ["daemon-reload"] | ["enable", _] => ExitCode::SUCCESS,
            ["start", _] => self.start(),
            ["stop", _] | ["disable", "--now", _] => self.stop(),
            ["restart", _] => {
                self.stop();
                self.start()
            }
            _ => fail("Unknown command verb."),
        }
    }

    fn show(&self) -> ExitCode {
        let running = self.pid().is_some() && self.has("ready");
        let state = match (running, self.has("failed")) {
            (true, _) => "active",
            (false, true) => "failed",
            (false, false) => "inactive",
        };
        let or = |name: &str, usual: &str| {
            Some(self.read(name)).filter(|text| !text.is_empty()).unwrap_or(usual.to_owned())
        };
        print(&format!(
            "ActiveState={state}\nMainPID={}\nNRestarts={}\nActiveEnterTimestamp=Mon 2026-11-16 08:00:00 UTC\n\
             Result={}\nExecMainStatus={}\n",
            or("pid", "0"),
            or("restarts", "0"),
            or("result", "success"),
            or("code", "0"),
        ));
        ExitCode::SUCCESS
    }

    /// Starts the unit, and waits until it is ready or has failed.
    #[expect(clippy::zombie_processes, reason = "the supervisor outlives us, as systemd does")]
    fn start(&self) -> ExitCode {
        for name in ["stop", "failed", "restarts", "result", "code", "ready", "pid"] {
            let _ = std::fs::remove_file(self.0.join(name));
        }
        if self.has("no-namespaces") && self.unit().contains("ProtectSystem") || self.has_missing_paths() {
            self.write("failed", "");
            self.write("result", "exit-code");
            self.write("code", "226");
            return fail(
                "Job for ollim-bot.service failed because the control process exited with error code.",
            );
        }
        let program = std::env::current_exe().expect("our own place");
        let mut supervisor = Command::new(program)
            .arg("supervise")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a supervisor");
        let mut status_line = String::new();
        let _ = BufReader::new(supervisor.stdout.take().expect("its line")).read_line(&mut status_line);
        match status_line.trim() {
            "ready" => ExitCode::SUCCESS,
            _ => fail("Job for ollim-bot.service failed."),
        }
    }

    /// Returns whether the unit lists a path that does not exist. systemd cannot set up the
    /// namespace then either.
    fn has_missing_paths(&self) -> bool {
        let unit = self.unit();
        let mut path_lists = unit.lines().filter_map(|line| line.strip_prefix("ReadWritePaths="));
        path_lists
            .any(|place| place != "%h" && !split_words(place).iter().all(|place| Path::new(place).exists()))
    }

    /// Stops the unit, and waits for its end.
    fn stop(&self) -> ExitCode {
        self.write("stop", "");
        if let Some(pid) = self.pid() {
            let _ = kill_process(pid, Signal::TERM);
        }
        // The supervisor has this file locked until it ends.
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.0.join("lock"))
            .expect("a lock");
        lock.lock().expect("its end");
        ExitCode::SUCCESS
    }

    fn loginctl(&self, words: &[&str]) -> ExitCode {
        match words {
            ["show-user", ..] => print(if self.has("linger") { "Linger=yes\n" } else { "Linger=no\n" }),
            ["--no-ask-password", "enable-linger"] if self.has("may-linger") => self.write("linger", ""),
            _ => return fail("Could not enable linger: Access denied"),
        }
        ExitCode::SUCCESS
    }

    /// Runs the unit, restarting it until it is stopped or exits with a final code.
    fn supervise(&self) -> ExitCode {
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.0.join("lock"))
            .expect("a lock");
        lock.lock().expect("nobody else supervises");
        let mut restarts = 0;
        loop {
            let (result, code) = self.run_once();
            let _ = std::fs::remove_file(self.0.join("pid"));
            let _ = std::fs::remove_file(self.0.join("ready"));
            self.write("result", result);
            self.write("code", &code.to_string());
            if self.has("stop") || FINAL_EXIT_CODES.contains(&code) {
                if !self.has("stop") && code != 0 {
                    self.write("failed", "");
                    print("failed\n");
                }
                return ExitCode::SUCCESS;
            }
            restarts += 1;
            self.write("restarts", &restarts.to_string());
        }
    }

    /// Runs the program once. Returns systemd's result and the exit code.
    fn run_once(&self) -> (&'static str, i32) {
        let unit = self.unit();
        let micros = match self.read("watchdog").trim().parse() {
            Ok(micros) => micros,
            Err(_) => number_setting(&unit, "WatchdogSec=") * 1_000_000,
        };
        let socket = self.0.join("notify");
        let _ = std::fs::remove_file(&socket);
        let notify_socket = UnixDatagram::bind(&socket).expect("a socket");
        notify_socket.set_read_timeout(Some(POLL_INTERVAL)).expect("a short wait");
        let mut child = self.spawn(&unit, &socket, micros);
        self.write("pid", &child.id().to_string());
        let watchdog_timeout = Duration::from_micros(micros);
        let mut last_notification = Instant::now();
        let mut stopping = false;
        loop {
            let mut buffer = [0; 256];
            match notify_socket.recv(&mut buffer) {
                Ok(length) => {
                    last_notification = Instant::now();
                    let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
                    self.log_notification(&text);
                    // STOPPING=1 is final, as in systemd: the process has TimeoutStopSec to end,
                    // whatever it sends later.
                    if text.contains("STOPPING=1") {
                        stopping = true;
                        let _ = std::fs::remove_file(self.0.join("ready"));
                    }
                    if text.contains("READY=1") && stopping {
                        let _ = child.kill();
                        let _ = child.wait();
                        return ("timeout", -1);
                    }
                    if text.contains("READY=1") {
                        self.write("ready", "");
                        print("ready\n");
                        let _ = std::io::stdout().flush();
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => panic!("the socket: {error}"),
            }
            if let Some(status) = child.try_wait().expect("a child") {
                return (if status.success() { "success" } else { "exit-code" }, status.code().unwrap_or(-1));
            }
            if self.has("ready") && last_notification.elapsed() > watchdog_timeout {
                let _ = child.kill();
                let _ = child.wait();
                return ("watchdog", -1);
            }
        }
    }

    fn spawn(&self, unit: &str, socket: &Path, micros: u64) -> Child {
        let journal =
            || OpenOptions::new().create(true).append(true).open(self.0.join("journal")).expect("a journal");
        let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("ExecStart");
        let mut command = Command::new(&split_words(line)[0]);
        command.args(&split_words(line)[1..]).env_clear().current_dir("/");
        command.env("HOME", self.read("home").trim()).env("PATH", "/usr/bin:/bin");
        for line in unit.lines().filter_map(|line| line.strip_prefix("Environment=")) {
            command.envs(split_words(line).iter().filter_map(|word| word.split_once('=')));
        }
        command.env("NOTIFY_SOCKET", socket).env("WATCHDOG_USEC", micros.to_string());
        command.stdin(Stdio::null()).stdout(journal()).stderr(journal());
        command.spawn().expect("what the unit says")
    }

    /// Appends a notification to the log of notifications.
    fn log_notification(&self, text: &str) {
        let mut log: File =
            OpenOptions::new().create(true).append(true).open(self.0.join("heard")).expect("a file");
        let _ = writeln!(log, "{}", text.replace('\n', " "));
    }
}

fn number_setting(unit: &str, name: &str) -> u64 {
    unit.lines().find_map(|line| line.strip_prefix(name)?.parse().ok()).expect("a number")
}

/// Splits a line into words like systemd.
fn split_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => quoted = !quoted,
            '\\' => word.extend(letters.next()),
            '%' | '$' => {
                letters.next();
                word.push(letter);
            }
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            letter => word.push(letter),
        }
    }
    words.push(word);
    words
}
