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

use domain::schedule::FileNews;
use engine::ports::Clock;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::JobBook;
use crate::disk;

/// The interval at which all files are scanned.
pub const LOOKS_EVERY: Duration = Duration::from_secs(10);

/// The most queued wake-ups; the system queues further events or reports an overflow.
const RINGS: usize = 1024;

/// The most queued news. Further news are collected and sent together.
const NEWS: usize = 64;

/// Delay before news are sent again that did not fit into the queue.
const TELLS_AGAIN: Duration = Duration::from_millis(100);

/// The shortest wait.
const BLINK: Duration = Duration::from_millis(5);

/// Watches the job files until it is dropped.
pub struct Watch {
    doorbell: SyncSender<Ring>,
    thread: Option<JoinHandle<()>>,
}

/// Wake-up of the thread.
enum Ring {
    Changed(Vec<PathBuf>),
    /// An event was lost or has no usable path.
    Anything,
    Stop,
}

/// Watches the files of `scanner` and sends the news, first about everything that is unknown to it.
/// Scans all files at the interval `every`. Creates missing directories; a failure to create one
/// does not affect the others.
pub fn watch(
    book: JobBook,
    clock: Arc<dyn Clock>,
    every: Duration,
) -> io::Result<(mpsc::Receiver<Vec<FileNews>>, Watch)> {
    for directory in book.watched() {
        if let Err(error) = disk::ensure_dir(book.disk(), &directory) {
            tracing::warn!(%error, path = %directory.display(), "A directory of job files can't be made.");
        }
    }
    let (doorbell, rings) = sync_channel(RINGS);
    let (news, read) = mpsc::channel(NEWS);
    let ears = listen(doorbell.clone(), book.watched());
    let follower = Follower { book, clock, every, ears, rings, news, untold: Vec::new() };
    let thread = std::thread::Builder::new().name("job files".to_owned());
    let thread = thread.spawn(move || follower.follow())?;
    Ok((read, Watch { doorbell, thread: Some(thread) }))
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Fails only if the thread has ended already.
        let _ = self.doorbell.send(Ring::Stop);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("The thread that follows the job files panicked.");
        }
    }
}

/// State of the thread.
struct Follower {
    book: JobBook,
    clock: Arc<dyn Clock>,
    every: Duration,
    ears: Option<RecommendedWatcher>,
    rings: Receiver<Ring>,
    news: mpsc::Sender<Vec<FileNews>>,
    /// News that did not fit into the queue.
    untold: Vec<FileNews>,
}

/// The next files to scan.
enum Next {
    All,
    These(Vec<PathBuf>),
    Nothing,
}

impl Follower {
    fn follow(mut self) {
        let mut next = Next::All;
        let mut looked = Instant::now();
        loop {
            let now = self.clock.now().timestamp();
            let news = match next {
                Next::All => {
                    looked = Instant::now();
                    self.hear_directories();
                    self.book.look(now)
                }
                Next::These(paths) => self.book.look_at(&paths, now),
                Next::Nothing => return,
            };
            self.untold.extend(news);
            if self.tell().is_err() {
                return;
            }
            next = self.wait(looked);
        }
    }

    /// Watches the directories again, because the system regards a replaced one as new.
    fn hear_directories(&mut self) {
        let Some(ears) = &mut self.ears else { return };
        for directory in self.book.watched() {
            // The next scan notices a missing directory.
            let _ = ears.watch(&directory, RecursiveMode::NonRecursive);
        }
    }

    /// Sends all news. Fails if the receiver is gone.
    fn tell(&mut self) -> Result<(), ()> {
        if self.untold.is_empty() {
            return if self.news.is_closed() { Err(()) } else { Ok(()) };
        }
        match self.news.try_send(std::mem::take(&mut self.untold)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(news)) => {
                self.untold = news;
                Ok(())
            }
            Err(TrySendError::Closed(_)) => Err(()),
        }
    }

    /// Waits for a change or the next scan.
    fn wait(&self, looked: Instant) -> Next {
        match self.rings.recv_timeout(self.patience(looked)) {
            Ok(ring) => self.and_the_rest(ring),
            Err(RecvTimeoutError::Timeout) if looked.elapsed() >= self.every => Next::All,
            Err(RecvTimeoutError::Timeout) => Next::These(Vec::new()),
            Err(RecvTimeoutError::Disconnected) => Next::Nothing,
        }
    }

    /// Combines `first` with all queued wake-ups.
    fn and_the_rest(&self, first: Ring) -> Next {
        let mut paths = Vec::new();
        let mut all = false;
        for ring in std::iter::once(first).chain(self.rings.try_iter().take(RINGS)) {
            match ring {
                Ring::Changed(changed) => paths.extend(changed),
                Ring::Anything => all = true,
                Ring::Stop => return Next::Nothing,
            }
        }
        if all { Next::All } else { Next::These(paths) }
    }

    fn patience(&self, looked: Instant) -> Duration {
        let all = self.every.saturating_sub(looked.elapsed());
        let now = self.clock.now().timestamp();
        let again =
            self.book.again().map(|then| Duration::try_from(then.duration_since(now)).unwrap_or_default());
        let untold = (!self.untold.is_empty()).then_some(TELLS_AGAIN);
        [again, untold].into_iter().flatten().fold(all, Duration::min).max(BLINK)
    }
}

/// Watches `directories`. If that fails, only the periodic scan finds changes.
fn listen(doorbell: SyncSender<Ring>, directories: [PathBuf; 3]) -> Option<RecommendedWatcher> {
    let heard = move |event: notify::Result<Event>| {
        if let Some(ring) = ring(event, &directories) {
            // Fails only during shutdown.
            let _ = doorbell.send(ring);
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

fn ring(event: notify::Result<Event>, directories: &[PathBuf]) -> Option<Ring> {
    match event {
        // Caused by our own reads.
        Ok(event) if event.kind.is_access() => None,
        Ok(event) if event.need_rescan() || event.paths.iter().any(|path| directories.contains(path)) => {
            Some(Ring::Anything)
        }
        // An acceptance changed, so withheld permissions may be granted now.
        Ok(event) if event.paths.iter().any(|path| path.starts_with(&directories[2])) => Some(Ring::Anything),
        Ok(event) => Some(Ring::Changed(event.paths)),
        Err(_) => Some(Ring::Anything),
    }
}
