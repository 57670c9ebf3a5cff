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

use domain::assistant::{Query, Request};
use engine::handle::AssistantHandle;

use crate::notify::Notifier;

/// Interval between requests to the event loop.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// A file in `state` that exists while the watchdog runs, and after an unexpected exit.
const MARK_FILE: &str = "watched";
const STALLED: &str = "stalled";

/// The time of the loop's last answer, relative to the start of the watchdog.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    began: Instant,
    milliseconds: Arc<AtomicU64>,
}

impl Heartbeat {
    fn new() -> Self {
        Self { began: Instant::now(), milliseconds: Arc::default() }
    }

    fn record(&self) {
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
fn verdict(now: Duration, last_answer: Duration, last_check: Duration, stall_limit: Duration) -> Verdict {
    let frozen = now.saturating_sub(last_check) > stall_limit / 2;
    if !frozen && now.saturating_sub(last_answer) > stall_limit { Verdict::Stalled } else { Verdict::Alive }
}

/// A running watchdog thread; dropping it stops the thread.
pub struct Watchdog {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    mark: PathBuf,
}

impl Watchdog {
    /// Starts watching `heartbeat` for `notifier`, which waits at most `watchdog_timeout`.
    pub fn start(notifier: Notifier, watchdog_timeout: Duration, heartbeat: Heartbeat, state: &Path) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let mark = state.join(MARK_FILE);
        // Without the mark only the notice after a crash is lost.
        let _ = std::fs::write(&mark, "");
        let thread_over = Arc::clone(&over);
        let thread_mark = mark.clone();
        let thread = std::thread::spawn(move || {
            watch_loop(&notifier, watchdog_timeout, &heartbeat, &thread_over, &thread_mark);
        });
        Self { over, thread: Some(thread), mark }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.mark);
    }
}

fn watch_loop(
    notifier: &Notifier,
    watchdog_timeout: Duration,
    heartbeat: &Heartbeat,
    over: &AtomicBool,
    mark: &Path,
) {
    let stall_limit = watchdog_timeout * 2 / 3;
    let between = watchdog_timeout / 6;
    let mut last_check = heartbeat.began.elapsed();
    while !over.load(Ordering::Relaxed) {
        let now = heartbeat.began.elapsed();
        match verdict(now, heartbeat.last(), last_check, stall_limit) {
            Verdict::Alive => notifier.alive(),
            Verdict::Stalled => {
                let _ = std::fs::write(mark, STALLED);
                tracing::error!(
                    seconds = stall_limit.as_secs(),
                    "The loop stands still; the process ends, to be started again."
                );
                std::process::abort();
            }
        }
        // If this thread was frozen, so was the loop.
        if now.saturating_sub(last_check) > stall_limit / 2 {
            heartbeat.record();
        }
        last_check = now;
        park_timeout(between);
    }
}

/// Returns a heartbeat, and the task that updates it while the event loop answers.
pub fn heartbeat_task(desk: AssistantHandle) -> (Heartbeat, impl Future<Output = ()> + Send) {
    let pulse = Heartbeat::new();
    let felt = pulse.clone();
    let beating = async move {
        loop {
            desk.ask(Request::Query(Query::Attention)).await;
            felt.record();
            tokio::time::sleep(HEARTBEAT_INTERVAL).await;
        }
    };
    (pulse, beating)
}

/// Returns a notice if the last watched process ended unexpectedly, and removes the mark.
pub fn last_exit_notice(state: &Path) -> Option<String> {
    let mark = state.join(MARK_FILE);
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
    fn stalled_loop_is_detected() {
        let seconds = Duration::from_secs;
        let check = |now: u64, beat: u64, looked: u64| {
            verdict(seconds(now), seconds(beat), seconds(looked), seconds(60))
        };
        assert_eq!(check(100, 99, 90), Verdict::Alive);
        assert_eq!(check(100, 40, 90), Verdict::Alive, "exactly so long is borne");
        assert_eq!(check(101, 40, 90), Verdict::Stalled);
        assert_eq!(check(1000, 40, 45), Verdict::Alive, "nobody looked for a long time");
        assert_eq!(check(5, 0, 0), Verdict::Alive, "a start takes a while");
    }

    /// H2: An unexpected exit is reported once.
    #[test]
    fn unexpected_exit_is_reported_once() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(last_exit_notice(dir.path()), None);
        std::fs::write(dir.path().join(MARK_FILE), "").unwrap();
        assert!(last_exit_notice(dir.path()).unwrap().contains("without being asked to"));
        std::fs::write(dir.path().join(MARK_FILE), STALLED).unwrap();
        assert!(last_exit_notice(dir.path()).unwrap().contains("stood still"));
        assert_eq!(last_exit_notice(dir.path()), None);
    }
}
