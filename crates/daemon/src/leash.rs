//! The leash: a program that we start must not outlive us, however we end.
//!
//! Nobody but a process itself can ask to be ended with its parent, and asking between its birth and its program
//! takes unsafe code. So our own binary is started first, asks, and becomes the program.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use models::claude::Leash;

use crate::exit::Failed;

/// What our own binary is called by a process of ours, whatever became of the file since.
pub const OURSELVES: &str = "/proc/self/exe";

/// The words that start a program on a leash.
pub fn leash() -> Leash {
    if cfg!(target_os = "linux") {
        Leash::By(vec![OURSELVES.to_owned(), "leash".to_owned()])
    } else {
        Leash::None
    }
}

/// Becomes the program of `line`, which ends when `parent` does.
pub fn become_leashed(parent: i32, line: &[OsString]) -> Result<Infallible, Failed> {
    let Some((program, words)) = line.split_first() else {
        return Err(Failed::Usage("name a program to start on a leash.".to_owned()));
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(std::io::Error::from)?;
        // It may have died before we asked.
        if getppid().map(Pid::as_raw_pid) != Some(parent) {
            return Err(Failed::NotDone("whoever started this is gone.".to_owned()));
        }
    }
    let error = Command::new(program).args(words).exec();
    Err(Failed::NotDone(format!("{}: {error}", program.display())))
}
