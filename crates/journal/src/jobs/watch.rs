//! Watches the job files while the assistant runs.
//!
//! Scans a file when the system reports a change. Such events can be lost, so all files are also
//! scanned at an interval. Runs on a separate thread, because file access blocks.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use domain::schedule::JobFileChange;
use engine::ports::Clock;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::JobFileScanner;
use crate::disk;

/// The interval at which all files are scanned.
pub const SCAN_INTERVAL: Duration = Duration::from_secs(10);

/// The most queued wake-ups; the system queues further events or reports an overflow.
const WAKE_UP_QUEUE: usize = 1024;

/// The most queued news. Further news are collected and sent together.
const NEWS_QUEUE: usize = 64;

/// Delay before news are sent again that did not fit into the queue.
const RESEND_DELAY: Duration = Duration::from_millis(100);

/// The shortest wait.
const MIN_WAIT: Duration = Duration::from_millis(5);

/// Watches the job files until it is dropped.
pub struct JobFileWatch {
    wake_up: SyncSender<WakeUp>,
    thread: Option<JoinHandle<()>>,
}

/// Wake-up of the thread.
enum WakeUp {
    Changed(Vec<PathBuf>),
    /// An event was lost or has no usable path.
    Rescan,
    Stop,
}

/// Watches the files of `scanner` and sends the news, first about everything that is unknown to it.
/// Scans all files at the interval `every`. Creates missing directories; a failure to create one
/// does not affect the others.
pub fn watch(
    scanner: JobFileScanner,
    clock: Arc<dyn Clock>,
    every: Duration,
) -> io::Result<(mpsc::Receiver<Vec<JobFileChange>>, JobFileWatch)> {
    for directory in scanner.watched_dirs() {
        if let Err(error) = disk::ensure_dir(scanner.disk(), &directory) {
            tracing::warn!(%error, path = %directory.display(), "A directory of job files can't be made.");
        }
    }
    let (doorbell, rings) = sync_channel(WAKE_UP_QUEUE);
    let (news, read) = mpsc::channel(NEWS_QUEUE);
    let ears = start_watcher(doorbell.clone(), scanner.watched_dirs());
    let follower =
        WatchThread { scanner, clock, every, watcher: ears, wake_ups: rings, news, unsent: Vec::new() };
    let thread = std::thread::Builder::new().name("job files".to_owned());
    let thread = thread.spawn(move || follower.run())?;
    Ok((read, JobFileWatch { wake_up: doorbell, thread: Some(thread) }))
}

impl Drop for JobFileWatch {
    fn drop(&mut self) {
        // Fails only if the thread has ended already.
        let _ = self.wake_up.send(WakeUp::Stop);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("The thread that follows the job files panicked.");
        }
    }
}

/// State of the thread.
struct WatchThread {
    scanner: JobFileScanner,
    clock: Arc<dyn Clock>,
    every: Duration,
    watcher: Option<RecommendedWatcher>,
    wake_ups: Receiver<WakeUp>,
    news: mpsc::Sender<Vec<JobFileChange>>,
    /// News that did not fit into the queue.
    unsent: Vec<JobFileChange>,
}

/// The next files to scan.
enum NextScan {
    All,
    Paths(Vec<PathBuf>),
    Stop,
}

impl WatchThread {
    fn run(mut self) {
        let mut next = NextScan::All;
        let mut looked = Instant::now();
        loop {
            let now = self.clock.now().timestamp();
            let news = match next {
                NextScan::All => {
                    looked = Instant::now();
                    self.watch_directories();
                    self.scanner.scan(now)
                }
                NextScan::Paths(paths) => self.scanner.scan_paths(&paths, now),
                NextScan::Stop => return,
            };
            self.unsent.extend(news);
            if self.send_news().is_err() {
                return;
            }
            next = self.wait(looked);
        }
    }

    /// Watches the directories again, because the system regards a replaced one as new.
    fn watch_directories(&mut self) {
        let Some(ears) = &mut self.watcher else { return };
        for directory in self.scanner.watched_dirs() {
            // The next scan notices a missing directory.
            let _ = ears.watch(&directory, RecursiveMode::NonRecursive);
        }
    }

    /// Sends all news. Fails if the receiver is gone.
    fn send_news(&mut self) -> Result<(), ()> {
        if self.unsent.is_empty() {
            return if self.news.is_closed() { Err(()) } else { Ok(()) };
        }
        match self.news.try_send(std::mem::take(&mut self.unsent)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(news)) => {
                self.unsent = news;
                Ok(())
            }
            Err(TrySendError::Closed(_)) => Err(()),
        }
    }

    /// Waits for a change or the next scan.
    fn wait(&self, looked: Instant) -> NextScan {
        match self.wake_ups.recv_timeout(self.timeout(looked)) {
            Ok(ring) => self.combine_wake_ups(ring),
            Err(RecvTimeoutError::Timeout) if looked.elapsed() >= self.every => NextScan::All,
            Err(RecvTimeoutError::Timeout) => NextScan::Paths(Vec::new()),
            Err(RecvTimeoutError::Disconnected) => NextScan::Stop,
        }
    }

    /// Combines `first` with all queued wake-ups.
    fn combine_wake_ups(&self, first: WakeUp) -> NextScan {
        let mut paths = Vec::new();
        let mut all = false;
        for ring in std::iter::once(first).chain(self.wake_ups.try_iter().take(WAKE_UP_QUEUE)) {
            match ring {
                WakeUp::Changed(changed) => paths.extend(changed),
                WakeUp::Rescan => all = true,
                WakeUp::Stop => return NextScan::Stop,
            }
        }
        if all { NextScan::All } else { NextScan::Paths(paths) }
    }

    fn timeout(&self, looked: Instant) -> Duration {
        let all = self.every.saturating_sub(looked.elapsed());
        let now = self.clock.now().timestamp();
        let again = self
            .scanner
            .next_scan_at()
            .map(|then| Duration::try_from(then.duration_since(now)).unwrap_or_default());
        let untold = (!self.unsent.is_empty()).then_some(RESEND_DELAY);
        [again, untold].into_iter().flatten().fold(all, Duration::min).max(MIN_WAIT)
    }
}

/// Watches `directories`. If that fails, only the periodic scan finds changes.
fn start_watcher(wake_up: SyncSender<WakeUp>, directories: [PathBuf; 3]) -> Option<RecommendedWatcher> {
    let heard = move |event: notify::Result<Event>| {
        if let Some(ring) = wake_up_for(event, &directories) {
            // Fails only during shutdown.
            let _ = wake_up.send(ring);
        }
    };
    match notify::recommended_watcher(heard) {
        Ok(ears) => Some(ears),
        Err(error) => {
            tracing::warn!(%error, "The system does not say when job files change; a change counts a few seconds later.");
            None
        }
    }
}

fn wake_up_for(event: notify::Result<Event>, directories: &[PathBuf]) -> Option<WakeUp> {
    match event {
        // Caused by our own reads.
        Ok(event) if event.kind.is_access() => None,
        Ok(event) if event.need_rescan() || event.paths.iter().any(|path| directories.contains(path)) => {
            Some(WakeUp::Rescan)
        }
        // An acceptance changed, so withheld permissions may be granted now.
        Ok(event) if event.paths.iter().any(|path| path.starts_with(&directories[2])) => Some(WakeUp::Rescan),
        Ok(event) => Some(WakeUp::Changed(event.paths)),
        Err(_) => Some(WakeUp::Rescan),
    }
}
