//! A journal that blocks the calling thread until each operation is done, so that a simulation is
//! deterministic.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use domain::context::PromptPrefix;
use domain::conversation::{Branch, Entry, EntryId, Lineage, PathEntry};
use domain::record::Record;
use futures_util::future::{BoxFuture, ready};

use crate::ports::{Journal, ReadError, SideMessages, WriteError};

/// Wraps a journal and blocks the runtime thread on each call. Only for simulated time.
pub struct BlockingJournal {
    pub journal: Arc<dyn Journal>,
    /// Observes the writes.
    pub observer: Arc<dyn JournalObserver>,
}

/// Observes the writes to a journal, and can make them fail.
pub trait JournalObserver: Send + Sync {
    /// Returns an error if `records` cannot be written.
    fn before_write(&self, _records: &[Record]) -> Result<(), WriteError> {
        Ok(())
    }

    /// Called after `records` were written.
    fn after_write(&self, records: &[Record]);
}

impl Journal for BlockingJournal {
    fn write(&self, records: Vec<Record>) -> BoxFuture<'_, Result<(), WriteError>> {
        Box::pin(async move {
            self.observer.before_write(&records)?;
            complete(self.journal.write(records.clone())).await?;
            self.observer.after_write(&records);
            Ok(())
        })
    }

    fn path(&self, head: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, ReadError>> {
        complete(self.journal.path(head))
    }

    fn opening(&self, root: EntryId) -> BoxFuture<'_, Result<Option<PromptPrefix>, ReadError>> {
        complete(self.journal.opening(root))
    }

    fn save_opening(&self, opening: PromptPrefix) -> BoxFuture<'_, Result<(), WriteError>> {
        complete(self.journal.save_opening(opening))
    }

    fn recent_entries(
        &self,
        branch: Branch,
        before: Option<EntryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, ReadError>> {
        complete(self.journal.recent_entries(branch, before, limit))
    }

    fn lineage(&self, limit: u32) -> BoxFuture<'_, Result<Lineage, ReadError>> {
        complete(self.journal.lineage(limit))
    }

    fn entry(&self, id: EntryId) -> BoxFuture<'_, Result<Option<Entry>, ReadError>> {
        complete(self.journal.entry(id))
    }

    fn side_messages(
        &self,
        from: EntryId,
        before: Option<EntryId>,
    ) -> BoxFuture<'_, Result<SideMessages, ReadError>> {
        complete(self.journal.side_messages(from, before))
    }
}

/// Polls `work` to completion on the current thread and returns its finished result.
fn complete<'a, T: Send + 'a>(work: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
    // Without `unconstrained`, tokio's cooperative budget would return `PendingSignIn` for ever here.
    let mut work = pin!(tokio::task::unconstrained(work));
    let waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match work.as_mut().poll(&mut context) {
            Poll::Ready(given) => return Box::pin(ready(given)),
            Poll::Pending => thread::park(),
        }
    }
}

/// Unparks the waiting thread.
struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
