//! Watchdog for the event loop, reporting to systemd.
//!
//! A task sends a request to the event loop every second, and a separate thread checks when the
//! last one was answered, so it works even if the runtime hangs. After two thirds of systemd's
//! timeout without an answer it aborts the process, and systemd restarts it. Acknowledged data is
//! on disk, so nothing is lost.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, park_timeout};
use std::time::{Duration, Instant};

use domain::assistant::{Question, Request};
use engine::desk::Desk;

use crate::notify::Notifier;

/// Interval between requests to the event loop.
const BEAT: Duration = Duration::from_secs(1);
/// A file in `state` that exists while the watchdog runs, and after an unexpected exit.
const MARK: &str = "watched";
const STALLED: &str = "stalled";

/// The time of the loop's last answer, relative to the start of the watchdog.
#[derive(Clone, Debug)]
pub struct Pulse {
    began: Instant,
    milliseconds: Arc<AtomicU64>,
}

impl Pulse {
    fn new() -> Self {
        Self { began: Instant::now(), milliseconds: Arc::default() }
    }

    fn beats(&self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.milliseconds.store(now, Ordering::Relaxed);
    }

    fn last(&self) -> Duration {
        Duration::from_millis(self.milliseconds.load(Ordering::Relaxed))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Alive,
    Stalled,
}

/// Returns the verdict at `now` about a loop that last answered at `last_answer`, if the last check
/// was at `last_check`.
///
/// If the whole process was frozen, as by a debugger or a sleeping machine, there were no checks
/// either; that time does not count.
fn judge(now: Duration, beat: Duration, looked: Duration, patience: Duration) -> Verdict {
    let frozen = now.saturating_sub(looked) > patience / 2;
    if !frozen && now.saturating_sub(beat) > patience { Verdict::Stalled } else { Verdict::Alive }
}

/// A running watchdog thread; dropping it stops the thread.
pub struct Watch {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    mark: PathBuf,
}

impl Watch {
    /// Starts watching `heartbeat` for `notifier`, which waits at most `watchdog_timeout`.
    pub fn begin(notifier: Notifier, watched: Duration, pulse: Pulse, state: &Path) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let mark = state.join(MARK);
        // Without the mark only the notice after a crash is lost.
        let _ = std::fs::write(&mark, "");
        let thread_over = Arc::clone(&over);
        let thread_mark = mark.clone();
        let thread = std::thread::spawn(move || {
            look_after(&notifier, watched, &pulse, &thread_over, &thread_mark);
        });
        Self { over, thread: Some(thread), mark }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.mark);
    }
}

fn look_after(notifier: &Notifier, watched: Duration, pulse: &Pulse, over: &AtomicBool, mark: &Path) {
    let patience = watched * 2 / 3;
    let between = watched / 6;
    let mut looked = pulse.began.elapsed();
    while !over.load(Ordering::Relaxed) {
        let now = pulse.began.elapsed();
        match judge(now, pulse.last(), looked, patience) {
            Verdict::Alive => notifier.alive(),
            Verdict::Stalled => {
                let _ = std::fs::write(mark, STALLED);
                tracing::error!(
                    seconds = patience.as_secs(),
                    "The loop stands still; the process ends, to be started again."
                );
                std::process::abort();
            }
        }
        // If this thread was frozen, so was the loop.
        if now.saturating_sub(looked) > patience / 2 {
            pulse.beats();
        }
        looked = now;
        park_timeout(between);
    }
}

/// Returns a heartbeat, and the task that updates it while the event loop answers.
pub fn heartbeat(desk: Desk) -> (Pulse, impl Future<Output = ()> + Send) {
    let pulse = Pulse::new();
    let felt = pulse.clone();
    let beating = async move {
        loop {
            desk.ask(Request::Tell(Question::Attention)).await;
            felt.beats();
            tokio::time::sleep(BEAT).await;
        }
    };
    (pulse, beating)
}

/// Returns a notice if the last watched process ended unexpectedly, and removes the mark.
pub fn last_end(state: &Path) -> Option<String> {
    let mark = state.join(MARK);
    let left = std::fs::read_to_string(&mark).ok()?;
    let _ = std::fs::remove_file(&mark);
    Some(match left.trim() {
        STALLED => "i stood still for too long and was started again. nothing that was planned is lost.".to_owned(),
        _ => "i ended without being asked to (a crash, a kill or a power cut) and was started again. nothing that was planned is lost.".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// H2: A stalled loop is detected, but not after the whole process was frozen.
    #[test]
    fn a_loop_that_stands_still_is_found() {
        let seconds = Duration::from_secs;
        let check = |now: u64, beat: u64, looked: u64| {
            judge(seconds(now), seconds(beat), seconds(looked), seconds(60))
        };
        assert_eq!(check(100, 99, 90), Verdict::Alive);
        assert_eq!(check(100, 40, 90), Verdict::Alive, "exactly so long is borne");
        assert_eq!(check(101, 40, 90), Verdict::Stalled);
        assert_eq!(check(1000, 40, 45), Verdict::Alive, "nobody looked for a long time");
        assert_eq!(check(5, 0, 0), Verdict::Alive, "a start takes a while");
    }

    /// H2: An unexpected exit is reported once.
    #[test]
    fn an_end_that_was_not_asked_for_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(last_end(dir.path()), None);
        std::fs::write(dir.path().join(MARK), "").unwrap();
        assert!(last_end(dir.path()).unwrap().contains("without being asked to"));
        std::fs::write(dir.path().join(MARK), STALLED).unwrap();
        assert!(last_end(dir.path()).unwrap().contains("stood still"));
        assert_eq!(last_end(dir.path()), None);
    }
}
