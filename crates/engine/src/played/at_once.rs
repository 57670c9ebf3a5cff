//! A journal that blocks the calling thread until each operation is done, so that a simulation is
//! deterministic.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use domain::context::Opening;
use domain::conversation::{Branch, Entry, EntryId, Lineage, PathEntry};
use domain::record::Record;
use futures_util::future::{BoxFuture, ready};

use crate::ports::{Journal, Margin, Unreadable, Unwritten};

/// Wraps a journal and blocks the runtime thread on each call. Only for simulated time.
pub struct AtOnce {
    pub journal: Arc<dyn Journal>,
    /// Observes the writes.
    pub watching: Arc<dyn Watching>,
}

/// Observes the writes to a journal, and can make them fail.
pub trait Watching: Send + Sync {
    /// Returns an error if `records` cannot be written.
    fn writes(&self, _records: &[Record]) -> Result<(), Unwritten> {
        Ok(())
    }

    /// Called after `records` were written.
    fn wrote(&self, records: &[Record]);
}

impl Journal for AtOnce {
    fn write(&self, records: Vec<Record>) -> BoxFuture<'_, Result<(), Unwritten>> {
        Box::pin(async move {
            self.watching.writes(&records)?;
            now(self.journal.write(records.clone())).await?;
            self.watching.wrote(&records);
            Ok(())
        })
    }

    fn path(&self, head: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, Unreadable>> {
        now(self.journal.path(head))
    }

    fn opening(&self, root: EntryId) -> BoxFuture<'_, Result<Option<Opening>, Unreadable>> {
        now(self.journal.opening(root))
    }

    fn keep_opening(&self, opening: Opening) -> BoxFuture<'_, Result<(), Unwritten>> {
        now(self.journal.keep_opening(opening))
    }

    fn recent(
        &self,
        branch: Branch,
        before: Option<EntryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, Unreadable>> {
        now(self.journal.recent(branch, before, limit))
    }

    fn lineage(&self, limit: u32) -> BoxFuture<'_, Result<Lineage, Unreadable>> {
        now(self.journal.lineage(limit))
    }

    fn entry(&self, id: EntryId) -> BoxFuture<'_, Result<Option<Entry>, Unreadable>> {
        now(self.journal.entry(id))
    }

    fn beside(&self, from: EntryId, before: Option<EntryId>) -> BoxFuture<'_, Result<Margin, Unreadable>> {
        now(self.journal.beside(from, before))
    }
}

/// Polls `work` to completion on the current thread and returns its finished result.
fn now<'a, T: Send + 'a>(work: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
    // Without `unconstrained`, tokio's cooperative budget would return `Pending` for ever here.
    let mut work = pin!(tokio::task::unconstrained(work));
    let waker = Waker::from(Arc::new(Bell(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match work.as_mut().poll(&mut context) {
            Poll::Ready(given) => return Box::pin(ready(given)),
            Poll::Pending => thread::park(),
        }
    }
}

/// Unparks the waiting thread.
struct Bell(Thread);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
