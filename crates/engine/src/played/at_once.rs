//! A journal that answers at once: whoever asks stands still until it has, so that two threads cannot overtake each
//! other and what was played once goes the same way again.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use domain::context::Opening;
use domain::conversation::{Branch, Entry, EntryId, Lineage, PathEntry};
use domain::record::Record;
use futures_util::future::{BoxFuture, ready};

use crate::ports::{Journal, Margin, Unreadable, Unwritten};

/// The journal, answering at once. It is for played time alone: who waits for it keeps everybody waiting.
pub struct AtOnce {
    /// The journal.
    pub journal: Arc<dyn Journal>,
    /// Who looks over its shoulder.
    pub watching: Arc<dyn Watching>,
}

/// Looks over the shoulder of a journal.
pub trait Watching: Send + Sync {
    /// Whether `records` can be written.
    fn writes(&self, _records: &[Record]) -> Result<(), Unwritten> {
        Ok(())
    }

    /// They were.
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

/// What `work` gives, which is done when this returns.
fn now<'a, T: Send + 'a>(work: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
    // The runtime would take the floor from whoever asks too often, and give it back only to who lets go.
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

/// Wakes the thread that waits.
struct Bell(Thread);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
