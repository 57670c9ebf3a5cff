//! A journal that stops simulated time while it works.
//!
//! A paused clock jumps to the next timer as soon as the runtime is idle, and ignores that a
//! journal thread is still writing. A blocking task for the duration of the work prevents that.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use domain::context::Opening;
use domain::conversation::{Branch, Entry, EntryId, Lineage, PathEntry};
use domain::cost::{Report as Spending, Source};
use domain::explanation::{Explained, Subject};
use domain::occurrence::Occurrence;
use domain::post::PostKey;
use domain::record::{Charge, Record};
use domain::report::Report;
use engine::ports::{
    Archive, Journal as Port, Margin, Outbox, Outgoing, PostedAs, Queue, Receipt, Settled, Unreadable,
    Unwritten,
};
use futures_util::future::BoxFuture;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use journal::Journal;

use super::Story;

/// The real journal, with the clock frozen while it works.
pub struct HeldJournal(pub Arc<Journal>);

impl HeldJournal {
    fn during<'a, T: 'a>(&self, work: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
        let hold = hold();
        Box::pin(async move {
            let done = work.await;
            drop(hold);
            done
        })
    }
}

/// Prevents the paused clock from advancing by itself until the returned value is dropped.
pub fn hold() -> Sender<()> {
    let (hold, released) = channel::<()>();
    tokio::runtime::Handle::current().spawn_blocking(move || released.recv());
    hold
}

impl Story {
    /// Runs `work` while the clock is frozen.
    pub(super) fn at_once<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(async {
            let hold = hold();
            let done = work.await;
            drop(hold);
            done
        })
    }
}

impl Port for HeldJournal {
    fn write(&self, records: Vec<Record>) -> BoxFuture<'_, Result<(), Unwritten>> {
        self.during(self.0.write(records))
    }

    fn path(&self, head: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, Unreadable>> {
        self.during(self.0.path(head))
    }

    fn opening(&self, root: EntryId) -> BoxFuture<'_, Result<Option<Opening>, Unreadable>> {
        self.during(self.0.opening(root))
    }

    fn keep_opening(&self, opening: Opening) -> BoxFuture<'_, Result<(), Unwritten>> {
        self.during(self.0.keep_opening(opening))
    }

    fn recent(
        &self,
        branch: Branch,
        before: Option<EntryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, Unreadable>> {
        self.during(self.0.recent(branch, before, limit))
    }

    fn lineage(&self, limit: u32) -> BoxFuture<'_, Result<Lineage, Unreadable>> {
        self.during(self.0.lineage(limit))
    }

    fn entry(&self, id: EntryId) -> BoxFuture<'_, Result<Option<Entry>, Unreadable>> {
        self.during(self.0.entry(id))
    }

    fn beside(&self, from: EntryId, before: Option<EntryId>) -> BoxFuture<'_, Result<Margin, Unreadable>> {
        self.during(self.0.beside(from, before))
    }
}

impl Archive for HeldJournal {
    fn reports(&self) -> BoxFuture<'_, Result<Vec<Report>, Unreadable>> {
        self.during(self.0.reports())
    }

    fn spent(&self, now: Zoned, days: u16) -> BoxFuture<'_, Result<Spending, Unreadable>> {
        self.during(self.0.spent(now, days))
    }

    fn explain(
        &self,
        subject: Subject,
        zone: TimeZone,
    ) -> BoxFuture<'_, Result<Option<Explained>, Unreadable>> {
        self.during(self.0.explain(subject, zone))
    }

    fn occurrences(
        &self,
        of: Option<Source>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Occurrence>, Unreadable>> {
        self.during(self.0.occurrences(of, limit))
    }
}

impl Outbox for HeldJournal {
    fn waiting(&self, queue: Queue, limit: u32) -> BoxFuture<'_, Result<Vec<Outgoing>, Unreadable>> {
        self.during(self.0.waiting(queue, limit))
    }

    fn receipts(&self, key: PostKey) -> BoxFuture<'_, Result<Vec<Receipt>, Unreadable>> {
        self.during(self.0.receipts(key))
    }

    fn receipts_of(&self, kind: &'static str) -> BoxFuture<'_, Result<Vec<Receipt>, Unreadable>> {
        self.during(self.0.receipts_of(kind))
    }

    fn unfinished(&self) -> BoxFuture<'_, Result<Vec<Receipt>, Unreadable>> {
        self.during(self.0.unfinished())
    }

    fn became(&self, receipt: Receipt, at: Timestamp) -> BoxFuture<'_, Result<(), Unwritten>> {
        self.during(self.0.became(receipt, at))
    }

    fn is_gone(&self, receipt: Receipt) -> BoxFuture<'_, Result<(), Unwritten>> {
        self.during(self.0.is_gone(receipt))
    }

    fn settle(&self, id: u64, how: Settled) -> BoxFuture<'_, Result<Option<Charge>, Unwritten>> {
        self.during(self.0.settle(id, how))
    }

    fn posted_as(&self, message: u64) -> BoxFuture<'_, Result<Option<PostedAs>, Unreadable>> {
        self.during(self.0.posted_as(message))
    }

    fn keepsake(&self, name: &'static str) -> BoxFuture<'_, Result<Option<String>, Unreadable>> {
        self.during(self.0.keepsake(name))
    }

    fn keep(&self, name: &'static str, value: String) -> BoxFuture<'_, Result<(), Unwritten>> {
        self.during(self.0.keep(name, value))
    }

    fn forget(&self, now: Timestamp) -> BoxFuture<'_, Result<(), Unwritten>> {
        self.during(self.0.forget(now))
    }
}
