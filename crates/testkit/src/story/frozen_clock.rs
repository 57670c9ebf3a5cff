//! A journal that stops simulated time while it works.
//!
//! A paused clock jumps to the next timer as soon as the runtime is idle, and ignores that a
//! journal thread is still writing. A blocking task for the duration of the work prevents that.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use domain::context::PromptPrefix;
use domain::conversation::{Branch, Entry, EntryId, Lineage, PathEntry};
use domain::cost::{CostReport as Spending, CostSource};
use domain::explanation::{ExplanationReport, Subject};
use domain::occurrence::Occurrence;
use domain::outbox::OutboxKey;
use domain::pending_update::PendingUpdate;
use domain::record::{PingCharge, Record};
use engine::ports::{
    Archive, Journal as Port, Outbox, PendingPost, PostOutcome, PostedAs, Queue, ReadError, Receipt,
    SideMessages, WriteError,
};
use futures_util::future::BoxFuture;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use journal::Journal;

use super::Story;

/// The real journal, with the clock frozen while it works.
pub struct FrozenClockJournal(pub Arc<Journal>);

impl FrozenClockJournal {
    fn with_frozen_clock<'a, T: 'a>(&self, work: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
        let freeze = freeze_clock();
        Box::pin(async move {
            let result = work.await;
            drop(freeze);
            result
        })
    }
}

/// Prevents the paused clock from advancing by itself until the returned value is dropped.
pub fn freeze_clock() -> Sender<()> {
    let (freeze, released) = channel::<()>();
    tokio::runtime::Handle::current().spawn_blocking(move || released.recv());
    freeze
}

impl Story {
    /// Runs `work` while the clock is frozen.
    pub(super) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(async {
            let freeze = freeze_clock();
            let result = work.await;
            drop(freeze);
            result
        })
    }
}

impl Port for FrozenClockJournal {
    fn write(&self, records: Vec<Record>) -> BoxFuture<'_, Result<(), WriteError>> {
        self.with_frozen_clock(self.0.write(records))
    }

    fn path(&self, head: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, ReadError>> {
        self.with_frozen_clock(self.0.path(head))
    }

    fn opening(&self, root: EntryId) -> BoxFuture<'_, Result<Option<PromptPrefix>, ReadError>> {
        self.with_frozen_clock(self.0.opening(root))
    }

    fn save_opening(&self, opening: PromptPrefix) -> BoxFuture<'_, Result<(), WriteError>> {
        self.with_frozen_clock(self.0.save_opening(opening))
    }

    fn recent_entries(
        &self,
        branch: Branch,
        before: Option<EntryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, ReadError>> {
        self.with_frozen_clock(self.0.recent_entries(branch, before, limit))
    }

    fn lineage(&self, limit: u32) -> BoxFuture<'_, Result<Lineage, ReadError>> {
        self.with_frozen_clock(self.0.lineage(limit))
    }

    fn entry(&self, id: EntryId) -> BoxFuture<'_, Result<Option<Entry>, ReadError>> {
        self.with_frozen_clock(self.0.entry(id))
    }

    fn side_messages(
        &self,
        from: EntryId,
        before: Option<EntryId>,
    ) -> BoxFuture<'_, Result<SideMessages, ReadError>> {
        self.with_frozen_clock(self.0.side_messages(from, before))
    }
}

impl Archive for FrozenClockJournal {
    fn reports(&self) -> BoxFuture<'_, Result<Vec<PendingUpdate>, ReadError>> {
        self.with_frozen_clock(self.0.reports())
    }

    fn spending(&self, now: Zoned, days: u16) -> BoxFuture<'_, Result<Spending, ReadError>> {
        self.with_frozen_clock(self.0.spending(now, days))
    }

    fn explain(
        &self,
        subject: Subject,
        zone: TimeZone,
    ) -> BoxFuture<'_, Result<Option<ExplanationReport>, ReadError>> {
        self.with_frozen_clock(self.0.explain(subject, zone))
    }

    fn occurrences(
        &self,
        of: Option<CostSource>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Occurrence>, ReadError>> {
        self.with_frozen_clock(self.0.occurrences(of, limit))
    }
}

impl Outbox for FrozenClockJournal {
    fn pending(&self, queue: Queue, limit: u32) -> BoxFuture<'_, Result<Vec<PendingPost>, ReadError>> {
        self.with_frozen_clock(self.0.pending(queue, limit))
    }

    fn receipts(&self, key: OutboxKey) -> BoxFuture<'_, Result<Vec<Receipt>, ReadError>> {
        self.with_frozen_clock(self.0.receipts(key))
    }

    fn receipts_of_kind(&self, kind: &'static str) -> BoxFuture<'_, Result<Vec<Receipt>, ReadError>> {
        self.with_frozen_clock(self.0.receipts_of_kind(kind))
    }

    fn unposted_receipts(&self) -> BoxFuture<'_, Result<Vec<Receipt>, ReadError>> {
        self.with_frozen_clock(self.0.unposted_receipts())
    }

    fn save_receipt(&self, receipt: Receipt, at: Timestamp) -> BoxFuture<'_, Result<(), WriteError>> {
        self.with_frozen_clock(self.0.save_receipt(receipt, at))
    }

    fn delete_receipt(&self, receipt: Receipt) -> BoxFuture<'_, Result<(), WriteError>> {
        self.with_frozen_clock(self.0.delete_receipt(receipt))
    }

    fn settle(&self, id: u64, how: PostOutcome) -> BoxFuture<'_, Result<Option<PingCharge>, WriteError>> {
        self.with_frozen_clock(self.0.settle(id, how))
    }

    fn posted_as(&self, message: u64) -> BoxFuture<'_, Result<Option<PostedAs>, ReadError>> {
        self.with_frozen_clock(self.0.posted_as(message))
    }

    fn kv_get(&self, name: &'static str) -> BoxFuture<'_, Result<Option<String>, ReadError>> {
        self.with_frozen_clock(self.0.kv_get(name))
    }

    fn kv_set(&self, name: &'static str, value: String) -> BoxFuture<'_, Result<(), WriteError>> {
        self.with_frozen_clock(self.0.kv_set(name, value))
    }

    fn prune(&self, now: Timestamp) -> BoxFuture<'_, Result<(), WriteError>> {
        self.with_frozen_clock(self.0.prune(now))
    }
}
