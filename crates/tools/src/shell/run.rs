//! Runs one command in its sandbox, collects its output, and kills everything it started.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::output::TruncatedOutput;
use super::usage::{Baseline, MAX_PROCESSES, limit_exceeded};
use super::{NetworkRule, Shell};
use crate::sandbox::{Network, SETUP_FAILED};

/// The interval between quick checks of the processes, and the number of quick checks per full
/// check.
const CHECK_INTERVAL: Duration = Duration::from_millis(25);
const CHECKS_PER_FULL_CHECK: u32 = 20;
/// The timeout for the remaining output after everything was killed.
const REMAINING_OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);

impl Shell {
    /// Returns the network of a call, or refuses it.
    pub(super) fn permitted_network(&self, asked: Network) -> Result<Network, String> {
        match (asked, self.network) {
            (Network::Off, _) => Ok(Network::Off),
            (Network::On, NetworkRule::WhenAsked) => Ok(Network::On),
            (Network::On, NetworkRule::Never) => {
                Err("commands have no network here. read pages with `WebFetch`.".to_owned())
            }
        }
    }

    /// Runs `command` in a sandbox.
    pub(super) async fn run(&self, command: &str, max: Duration, network: Network) -> Result<String, String> {
        let until = Instant::now() + max;
        // Each command has its own folder, so it cannot read what an earlier one left, which may
        // contain anything.
        let run_dir = tempfile::Builder::new().prefix("run-").tempdir_in(&self.work_dir);
        let run_dir = run_dir.map_err(|error| format!("there is no folder to work in: {error}."))?;
        let shell = Shell { work_dir: run_dir.path().to_owned(), ..self.clone() };
        let (mut running, output) = shell.start(command, max, network)?;
        let before = Baseline::measure(&shell.work_dir);
        let group = running.group;
        let mut buffer = TruncatedOutput::default();
        let end = tokio::select! {
            end = timeout_at(until, running.read_until_end(output, &mut buffer)) => end.unwrap_or(RunEnd::TimedOut),
            why = wait_for_limit(group, before, &shell.work_dir) => RunEnd::Killed(why),
        };
        drop(running);
        result_text(end, buffer.into_text(), max)
    }

    fn start(
        &self,
        command: &str,
        max: Duration,
        network: Network,
    ) -> Result<(RunningCommand, Receiver), String> {
        let (output, writer) = std::io::pipe().map_err(start_error)?;
        let mut command_line = self.sandboxed_command(command, max, network)?;
        command_line
            .current_dir(&self.work_dir)
            .stdout(writer.try_clone().map_err(start_error)?)
            .stderr(writer);
        let running = RunningCommand::start(command_line)?;
        let output = Receiver::from_owned_fd(output.into()).map_err(start_error)?;
        Ok((running, output))
    }

    /// Builds the command line that runs `command` in a sandbox.
    pub(super) fn sandboxed_command(
        &self,
        command: &str,
        max: Duration,
        network: Network,
    ) -> Result<Command, String> {
        let [program, words @ ..] = self.sandbox_command.as_slice() else {
            return Err("no cage is named.".to_owned());
        };
        let mut sandboxed = Command::new(program);
        sandboxed.args(words).arg(std::process::id().to_string());
        sandboxed.arg("--data").arg(&self.data).arg("--work").arg(&self.work_dir);
        sandboxed.args(["--seconds", &(max.as_secs() + 5).to_string()]);
        sandboxed.args(self.closed.iter().flat_map(|shut| ["--shut", shut]));
        if network == Network::On {
            sandboxed.arg("--network");
        }
        sandboxed.arg("--").arg(command);
        sandboxed.env_clear().envs(self.environment()).kill_on_drop(true).stdin(Stdio::piped());
        Ok(sandboxed)
    }

    /// J3: the complete environment of a command. None of our own variables are passed on.
    fn environment(&self) -> [(&'static str, String); 7] {
        let work = self.work_dir.to_string_lossy().into_owned();
        [
            ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".to_owned()),
            ("HOME", work.clone()),
            ("TMPDIR", work),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "dumb".to_owned()),
            ("TZ", self.time_zone.clone()),
            ("DATA", self.data.to_string_lossy().into_owned()),
        ]
    }
}

fn start_error(error: std::io::Error) -> String {
    format!("the command cannot be started: {error}.")
}

/// A running command. Dropping it kills all its processes.
pub(super) struct RunningCommand {
    pub(super) child: Child,
    pub(super) group: Pid,
    /// The sandbox ends when this is closed.
    _stdin: Option<ChildStdin>,
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        // Fails only if all processes have ended.
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}

/// The outcome of a command.
enum RunEnd {
    /// It exited.
    Exited(ExitStatus),
    /// It reached its time limit.
    TimedOut,
    /// It was killed for this reason.
    Killed(String),
}

impl RunningCommand {
    /// Starts `command` and drops it, because it owns the write ends of the child's pipes.
    pub(super) fn start(mut command: Command) -> Result<Self, String> {
        let mut child = command.spawn().map_err(start_error)?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let group = group.ok_or("the command has ended already.")?;
        let stdin = child.stdin.take();
        Ok(Self { child, group, _stdin: stdin })
    }

    /// Reads the output until the command ends, and then what remains.
    async fn read_until_end(&mut self, mut output: Receiver, buffer: &mut TruncatedOutput) -> RunEnd {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            tokio::select! {
                biased;
                read = output.read(&mut chunk) => match read {
                    Ok(count) if count > 0 => buffer.push(&chunk[..count]),
                    // The output is closed, but the command may still run.
                    Ok(_) | Err(_) => break,
                },
                status = self.child.wait() => {
                    // Background processes must not block the end of the output.
                    let _ = kill_process_group(self.group, Signal::KILL);
                    let _ = timeout(REMAINING_OUTPUT_TIMEOUT, read_remaining(&mut output, buffer, &mut chunk)).await;
                    return exit_outcome(status);
                }
            }
        }
        exit_outcome(self.child.wait().await)
    }
}

async fn read_remaining(output: &mut Receiver, buffer: &mut TruncatedOutput, chunk: &mut [u8]) {
    while let Ok(count @ 1..) = output.read(chunk).await {
        buffer.push(&chunk[..count]);
    }
}

fn exit_outcome(status: std::io::Result<ExitStatus>) -> RunEnd {
    match status {
        Ok(status) => RunEnd::Exited(status),
        Err(error) => RunEnd::Killed(format!("nobody knows how it ended ({error})")),
    }
}

/// Checks the processes of a command until they exceed a limit, and returns the reason.
pub(super) async fn wait_for_limit(group: Pid, before: Baseline, work: &std::path::Path) -> String {
    let mut checks = 0_u32;
    let mut known = 0;
    loop {
        sleep(CHECK_INTERVAL).await;
        checks += 1;
        if let Some(why) = before.write_limit_exceeded(work) {
            return why;
        }
        let more = before.additional_processes();
        let crowded = more > MAX_PROCESSES / 2;
        let grows = more > known;
        known = more;
        if crowded && grows {
            // A growing crowd is stopped while it is counted. The signal fails only if no process
            // is left.
            let _ = kill_process_group(group, Signal::STOP);
        }
        if crowded || checks.is_multiple_of(CHECKS_PER_FULL_CHECK) {
            let looked = tokio::task::spawn_blocking(move || limit_exceeded(group)).await;
            if let Ok(Some(why)) = looked {
                return why;
            }
        }
        if crowded && grows {
            let _ = kill_process_group(group, Signal::CONT);
        }
    }
}

/// Returns the text for the model.
fn result_text(end: RunEnd, output: String, max: Duration) -> Result<String, String> {
    let text = if output.trim().is_empty() { "(it printed nothing)" } else { output.trim_end() };
    match end {
        RunEnd::Exited(status) => match status.code() {
            Some(0) => Ok(text.to_owned()),
            Some(code) if code == i32::from(SETUP_FAILED) => Err(format!("no sandbox could be made: {text}")),
            Some(code) => Ok(format!("{text}\n(exit code {code})")),
            None => Ok(format!("{text}\n({status})")),
        },
        RunEnd::TimedOut => Err(format!(
            "the command was ended after {} seconds, with all that it started. it had printed:\n{text}",
            max.as_secs_f32()
        )),
        RunEnd::Killed(why) => {
            Err(format!("the command was ended, with all that it started: {why}. it had printed:\n{text}"))
        }
    }
}
