//! Following the job files while the assistant runs.
//!
//! The system says which files change, and those are looked at once. It may miss some, so all of them are looked
//! at every so often as well. A thread of its own does this, because the disk blocks.

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

/// How often all files are looked at, whatever the system says.
pub const LOOKS_EVERY: Duration = Duration::from_secs(10);

/// The most changes that wait; the system keeps the rest, or says that it could not.
const RINGS: usize = 1024;

/// The most news that wait to be read. More are kept here, and told together.
const NEWS: usize = 64;

/// How soon news are told that nobody had room for.
const TELLS_AGAIN: Duration = Duration::from_millis(100);

/// The shortest wait.
const BLINK: Duration = Duration::from_millis(5);

/// Follows the job files until it is dropped.
pub struct Watch {
    doorbell: SyncSender<Ring>,
    thread: Option<JoinHandle<()>>,
}

/// What wakes the thread.
enum Ring {
    Changed(Vec<PathBuf>),
    /// Some change was missed, or could not be told by its path.
    Anything,
    Stop,
}

/// Follows the files of `book`, and gives what is told of them: first all that the book does not know yet. All
/// files are looked at `every` so often. The directories are made if they are missing; one that cannot be made takes nothing
/// away from the others.
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
        // Whoever does not listen any more has already left.
        let _ = self.doorbell.send(Ring::Stop);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("The thread that follows the job files panicked.");
        }
    }
}

/// What the thread owns.
struct Follower {
    book: JobBook,
    clock: Arc<dyn Clock>,
    every: Duration,
    ears: Option<RecommendedWatcher>,
    rings: Receiver<Ring>,
    news: mpsc::Sender<Vec<FileNews>>,
    /// What nobody had room for.
    untold: Vec<FileNews>,
}

/// What to look at next.
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

    /// A directory that was replaced is a new one to the system.
    fn hear_directories(&mut self) {
        let Some(ears) = &mut self.ears else { return };
        for directory in self.book.watched() {
            // One that is gone is seen by the look that follows.
            let _ = ears.watch(&directory, RecursiveMode::NonRecursive);
        }
    }

    /// Tells all that is untold; an error if nobody listens any more.
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

    /// Waits for a change, or until it is time to look again.
    fn wait(&self, looked: Instant) -> Next {
        match self.rings.recv_timeout(self.patience(looked)) {
            Ok(ring) => self.and_the_rest(ring),
            Err(RecvTimeoutError::Timeout) if looked.elapsed() >= self.every => Next::All,
            Err(RecvTimeoutError::Timeout) => Next::These(Vec::new()),
            Err(RecvTimeoutError::Disconnected) => Next::Nothing,
        }
    }

    /// Everything that rang together with the first.
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

/// Has the system ring at every change in `directories`. Where it cannot, looking every so often must do.
fn listen(doorbell: SyncSender<Ring>, directories: [PathBuf; 3]) -> Option<RecommendedWatcher> {
    let heard = move |event: notify::Result<Event>| {
        if let Some(ring) = ring(event, &directories) {
            // Nobody is at home any more when this fails.
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
        // We read these files ourselves.
        Ok(event) if event.kind.is_access() => None,
        Ok(event) if event.need_rescan() || event.paths.iter().any(|path| directories.contains(path)) => {
            Some(Ring::Anything)
        }
        // Something was accepted, so what is held back may hold now.
        Ok(event) if event.paths.iter().any(|path| path.starts_with(&directories[2])) => Some(Ring::Anything),
        Ok(event) => Some(Ring::Changed(event.paths)),
        Err(_) => Some(Ring::Anything),
    }
}
