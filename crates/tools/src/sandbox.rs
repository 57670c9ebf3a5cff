//! The sandbox in which a command of the model runs with access to nothing but what its plan names.
//!
//! A process can only restrict itself, so our own binary is started first, gives up its rights, and
//! starts the shell. Restrictions are inherited and cannot be undone. Landlock limits the files,
//! seccomp filters limit the system calls, resource limits bound the usage. If one of them is
//! unavailable, nothing is run.

mod file_rules;
mod kernel;
mod limits;
mod syscalls;

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, getppid, kill_current_process_group, set_parent_process_death_signal};

pub use kernel::{CallFilter, FileRules, Kernel, Strength};

/// The exit code when the sandbox could not be set up.
pub const SETUP_FAILED: u8 = 71;

/// The paths where bash is looked for.
pub const SHELLS: [&str; 2] = ["/bin/bash", "/usr/bin/bash"];

/// The access of a sandboxed command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxPlan {
    /// The data directory: the entries at its top are readable, except closed ones.
    pub data: PathBuf,
    /// Top-level names that are closed in addition to those that always are.
    pub closed: Vec<String>,
    /// The only writable folder, where the command starts.
    pub work_dir: PathBuf,
    pub network: Network,
    /// CPU seconds of each process.
    pub cpu_seconds: u64,
}

/// Access to other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    Off,
    On,
}

/// Runs `command` in a sandbox according to `plan` and returns its exit code. All its processes end
/// with `parent`, or when stdin is closed.
pub fn run(parent: i32, plan: &SandboxPlan, command: &str) -> Result<ExitCode, String> {
    die_with_parent(parent)?;
    enter(plan)?;
    let shell = SHELLS.iter().find(|shell| std::path::Path::new(shell).exists());
    let shell = shell.ok_or("there is no bash on this machine")?;
    let mut child = Command::new(shell)
        .args(["--noprofile", "--norc", "-c", command])
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| format!("{shell} cannot be started ({error})"))?;
    // The parent has the other end of stdin. When it ends in any way, the read returns and kills
    // the process group.
    let watch = std::thread::Builder::new().spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        let _ = kill_current_process_group(Signal::KILL);
    });
    watch.map_err(|error| format!("no thread for a watch ({error})"))?;
    child.wait().map(exit_code).map_err(|error| error.to_string())
}

/// Gives up everything that `plan` does not allow. This cannot be undone.
fn enter(plan: &SandboxPlan) -> Result<(), String> {
    let strength = Kernel::probe().strength()?;
    limits::apply(plan)?;
    file_rules::restrict(plan)?;
    syscalls::restrict(plan.network, strength)
}

fn die_with_parent(parent: i32) -> Result<(), String> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| error.to_string())?;
    // The parent may have died before the signal was set.
    if getppid().map(Pid::as_raw_pid) == Some(parent) {
        Ok(())
    } else {
        Err("whoever started this is gone".to_owned())
    }
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
