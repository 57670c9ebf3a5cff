//! The cage: a command of the model runs with what it was given, and cannot reach anything else.
//!
//! A process can only cage itself, so our own binary is started first, gives up what it could do, and starts the shell.
//! What is given up is inherited and never comes back. Landlock says which files there are; a list of system calls says
//! what can be asked of the system at all; limits say how much. If one of them cannot be had, nothing is run.

mod bounds;
mod calls;
mod kernel;
mod rules;

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, getppid, kill_current_process_group, set_parent_process_death_signal};

pub use kernel::{CallFilter, FileRules, Kernel, Strength};

/// How a cage that could not be made ends.
pub const UNMADE: u8 = 71;

/// The shells that may be there.
pub const SHELLS: [&str; 2] = ["/bin/bash", "/usr/bin/bash"];

/// What a command in the cage may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The data directory: what is at its top may be read, but for what is shut.
    pub data: PathBuf,
    /// What is shut at its top, besides what always is.
    pub shut: Vec<String>,
    /// The one folder that may be written to, where the command starts.
    pub work: PathBuf,
    /// Whether other machines can be reached.
    pub network: Network,
    /// How many seconds of a processor each process may use.
    pub seconds: u64,
}

/// Whether other machines can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// They cannot.
    Off,
    /// They can.
    On,
}

/// Runs `command` in a cage made as `plan` says, and ends as it does. All of it ends with `parent`, or when its input
/// does.
pub fn run(parent: i32, plan: &Plan, command: &str) -> Result<ExitCode, String> {
    stay_with(parent)?;
    enter(plan)?;
    let shell = SHELLS.iter().find(|shell| std::path::Path::new(shell).exists());
    let shell = shell.ok_or("there is no bash on this machine")?;
    let mut child = Command::new(shell)
        .args(["--noprofile", "--norc", "-c", command])
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| format!("{shell} cannot be started ({error})"))?;
    // Whoever started us holds the other end. However they end, so does everything here.
    let watch = std::thread::Builder::new().spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        let _ = kill_current_process_group(Signal::KILL);
    });
    watch.map_err(|error| format!("no thread for a watch ({error})"))?;
    child.wait().map(code).map_err(|error| error.to_string())
}

/// Gives everything up that `plan` does not name. A process that did this cannot undo it.
fn enter(plan: &Plan) -> Result<(), String> {
    let strength = Kernel::look().strength()?;
    bounds::set(plan)?;
    rules::restrict(plan)?;
    calls::restrict(plan.network, strength)
}

fn stay_with(parent: i32) -> Result<(), String> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| error.to_string())?;
    // It may have died before we asked.
    if getppid().map(Pid::as_raw_pid) == Some(parent) {
        Ok(())
    } else {
        Err("whoever started this is gone".to_owned())
    }
}

fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
