//! A watchdog that kills a process after the time limit of a test.

use std::process::Child;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};

use rustix::process::{Pid, Signal, kill_process};

use crate::TEST_TIMEOUT;

/// Watches a process until released. The process must not be waited for before the release, because
/// its id could be reused.
pub struct Watchdog(Sender<()>);

impl Watchdog {
    /// Starts to watch `child`.
    pub fn watch(child: &Child) -> Self {
        let (release, released) = channel();
        let pid = Pid::from_child(child);
        std::thread::spawn(move || {
            if released.recv_timeout(TEST_TIMEOUT) == Err(RecvTimeoutError::Timeout) {
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        Self(release)
    }

    /// Stops watching.
    pub fn release(self) {
        drop(self.0);
    }
}
