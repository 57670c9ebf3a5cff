//! A watchdog: ends a process that takes longer than any test may.

use std::process::Child;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};

use rustix::process::{Pid, Signal, kill_process};

use crate::PATIENCE;

/// Watches until it is released. The process must not be waited for before that.
pub struct Watchdog(Sender<()>);

impl Watchdog {
    /// Watches over `child`.
    pub fn over(child: &Child) -> Self {
        let (release, released) = channel();
        let pid = Pid::from_child(child);
        std::thread::spawn(move || {
            if released.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        Self(release)
    }

    /// Lets it go.
    pub fn release(self) {
        drop(self.0);
    }
}
