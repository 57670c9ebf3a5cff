//! Lets child processes die with this process, however it ends.
//!
//! Only a process itself can request its parent-death signal, and doing so between fork and exec
//! needs unsafe code. So our own binary is started first, requests the signal, and executes the
//! program.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use models::claude::ParentDeathGuard;

use crate::exit::CommandError;

/// The path of our own binary for child processes; valid even if the file was replaced.
pub const SELF_EXE: &str = "/proc/self/exe";

/// Returns the arguments in front of a program that must die with us.
pub fn wrapper() -> ParentDeathGuard {
    if cfg!(target_os = "linux") {
        ParentDeathGuard::Wrapper(vec![SELF_EXE.to_owned(), "leash".to_owned()])
    } else {
        ParentDeathGuard::None
    }
}

/// Executes `line`, which is killed when `parent` ends.
pub fn exec_with_parent_death(parent: i32, line: &[OsString]) -> Result<Infallible, CommandError> {
    let Some((program, words)) = line.split_first() else {
        return Err(CommandError::Usage("name a program to start on a leash.".to_owned()));
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(std::io::Error::from)?;
        // The parent may have ended before the signal was set.
        if getppid().map(Pid::as_raw_pid) != Some(parent) {
            return Err(CommandError::Failed("whoever started this is gone.".to_owned()));
        }
    }
    let error = Command::new(program).args(words).exec();
    Err(CommandError::Failed(format!("{}: {error}", program.display())))
}
