//! Runs one command in its sandbox, collects its output, and kills everything it started.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::heap::{Before, PROCESSES, unbearable};
use super::output::Ends;
use super::{NetworkRule, Shell};
use crate::cage::{Network, UNMADE};

/// The interval between quick checks of the processes, and the number of quick checks per full
/// check.
const LOOK: Duration = Duration::from_millis(25);
const CLOSE: u32 = 20;
/// The timeout for the remaining output after everything was killed.
const LAST_WORDS: Duration = Duration::from_secs(2);

impl Shell {
    /// Returns the network of a call, or refuses it.
    pub(super) fn network(&self, asked: Network) -> Result<Network, String> {
        match (asked, self.network) {
            (Network::Off, _) => Ok(Network::Off),
            (Network::On, NetworkRule::WhenAsked) => Ok(Network::On),
            (Network::On, NetworkRule::Never) => {
                Err("commands have no network here. read pages with `WebFetch`.".to_owned())
            }
        }
    }

    /// Runs `command` in a sandbox.
    pub(super) async fn run(
        &self,
        command: &str,
        most: Duration,
        network: Network,
    ) -> Result<String, String> {
        let until = Instant::now() + most;
        // Each command has its own folder, so it cannot read what an earlier one left, which may
        // contain anything.
        let room = tempfile::Builder::new().prefix("run-").tempdir_in(&self.work);
        let room = room.map_err(|error| format!("there is no folder to work in: {error}."))?;
        let shell = Shell { work: room.path().to_owned(), ..self.clone() };
        let (mut caged, output) = shell.start(command, most, network)?;
        let before = Before::look(&shell.work);
        let group = caged.group;
        let mut ends = Ends::default();
        let end = tokio::select! {
            end = timeout_at(until, caged.ended(output, &mut ends)) => end.unwrap_or(End::Late),
            why = watch(group, before, &shell.work) => End::Stopped(why),
        };
        drop(caged);
        told(end, ends.told(), most)
    }

    fn start(&self, command: &str, most: Duration, network: Network) -> Result<(Caged, Receiver), String> {
        let (output, writer) = std::io::pipe().map_err(unstarted)?;
        let mut line = self.line(command, most, network)?;
        line.current_dir(&self.work).stdout(writer.try_clone().map_err(unstarted)?).stderr(writer);
        let caged = Caged::start(line)?;
        let output = Receiver::from_owned_fd(output.into()).map_err(unstarted)?;
        Ok((caged, output))
    }

    /// Builds the command line that runs `command` in a sandbox.
    pub(super) fn line(&self, command: &str, most: Duration, network: Network) -> Result<Command, String> {
        let [program, words @ ..] = self.cage.as_slice() else { return Err("no cage is named.".to_owned()) };
        let mut line = Command::new(program);
        line.args(words).arg(std::process::id().to_string());
        line.arg("--data").arg(&self.data).arg("--work").arg(&self.work);
        line.args(["--seconds", &(most.as_secs() + 5).to_string()]);
        line.args(self.shut.iter().flat_map(|shut| ["--shut", shut]));
        if network == Network::On {
            line.arg("--network");
        }
        line.arg("--").arg(command);
        line.env_clear().envs(self.environment()).kill_on_drop(true).stdin(Stdio::piped());
        Ok(line)
    }

    /// J3: the complete environment of a command. None of our own variables are passed on.
    fn environment(&self) -> [(&'static str, String); 7] {
        let work = self.work.to_string_lossy().into_owned();
        [
            ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".to_owned()),
            ("HOME", work.clone()),
            ("TMPDIR", work),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "dumb".to_owned()),
            ("TZ", self.zone.clone()),
            ("DATA", self.data.to_string_lossy().into_owned()),
        ]
    }
}

fn unstarted(error: std::io::Error) -> String {
    format!("the command cannot be started: {error}.")
}

/// A running command. Dropping it kills all its processes.
pub(super) struct Caged {
    pub(super) child: Child,
    pub(super) group: Pid,
    /// The sandbox ends when this is closed.
    _lifeline: Option<ChildStdin>,
}

impl Drop for Caged {
    fn drop(&mut self) {
        // Fails only if all processes have ended.
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}

/// The outcome of a command.
enum End {
    /// It exited.
    Done(ExitStatus),
    /// It reached its time limit.
    Late,
    /// It was killed for this reason.
    Stopped(String),
}

impl Caged {
    /// Starts `command` and drops it, because it owns the write ends of the child's pipes.
    pub(super) fn start(mut line: Command) -> Result<Self, String> {
        let mut child = line.spawn().map_err(unstarted)?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let group = group.ok_or("the command has ended already.")?;
        let lifeline = child.stdin.take();
        Ok(Self { child, group, _lifeline: lifeline })
    }

    /// Reads the output until the command ends, and then what remains.
    async fn ended(&mut self, mut output: Receiver, ends: &mut Ends) -> End {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            tokio::select! {
                biased;
                read = output.read(&mut chunk) => match read {
                    Ok(count) if count > 0 => ends.take(&chunk[..count]),
                    // The output is closed, but the command may still run.
                    Ok(_) | Err(_) => break,
                },
                status = self.child.wait() => {
                    // Background processes must not block the end of the output.
                    let _ = kill_process_group(self.group, Signal::KILL);
                    let _ = timeout(LAST_WORDS, rest(&mut output, ends, &mut chunk)).await;
                    return finished(status);
                }
            }
        }
        finished(self.child.wait().await)
    }
}

async fn rest(output: &mut Receiver, ends: &mut Ends, chunk: &mut [u8]) {
    while let Ok(count @ 1..) = output.read(chunk).await {
        ends.take(&chunk[..count]);
    }
}

fn finished(status: std::io::Result<ExitStatus>) -> End {
    match status {
        Ok(status) => End::Done(status),
        Err(error) => End::Stopped(format!("nobody knows how it ended ({error})")),
    }
}

/// Checks the processes of a command until they exceed a limit, and returns the reason.
pub(super) async fn watch(group: Pid, before: Before, work: &std::path::Path) -> String {
    let mut looks = 0_u32;
    let mut known = 0;
    loop {
        sleep(LOOK).await;
        looks += 1;
        if let Some(why) = before.too_much_written(work) {
            return why;
        }
        let more = before.more();
        let crowded = more > PROCESSES / 2;
        let grows = more > known;
        known = more;
        if crowded && grows {
            // A growing crowd is stopped while it is counted. The signal fails only if no process
            // is left.
            let _ = kill_process_group(group, Signal::STOP);
        }
        if crowded || looks.is_multiple_of(CLOSE) {
            let looked = tokio::task::spawn_blocking(move || unbearable(group)).await;
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
fn told(end: End, output: String, most: Duration) -> Result<String, String> {
    let said = if output.trim().is_empty() { "(it printed nothing)" } else { output.trim_end() };
    match end {
        End::Done(status) => match status.code() {
            Some(0) => Ok(said.to_owned()),
            Some(code) if code == i32::from(UNMADE) => Err(format!("no sandbox could be made: {said}")),
            Some(code) => Ok(format!("{said}\n(exit code {code})")),
            None => Ok(format!("{said}\n({status})")),
        },
        End::Late => Err(format!(
            "the command was ended after {} seconds, with all that it started. it had printed:\n{said}",
            most.as_secs_f32()
        )),
        End::Stopped(why) => {
            Err(format!("the command was ended, with all that it started: {why}. it had printed:\n{said}"))
        }
    }
}
