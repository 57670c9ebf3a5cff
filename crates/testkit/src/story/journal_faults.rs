//! Injected journal faults: a chosen write fails or stalls, or the program crashes at it.
//!
//! Writes are counted, so faults are deterministic.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::context::PromptPrefix;
use domain::conversation::{Branch, Entry, EntryId, Lineage, PathEntry};
use domain::record::Record;
use engine::ports::{Journal, ReadError, SideMessages, WriteError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::frozen_clock::FrozenClockJournal;

/// A fault at a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalFault {
    /// The write fails with an error.
    Fail,
    /// The program crashes before the write.
    CrashBefore,
    /// The program crashes after the write, before it is acknowledged.
    CrashAfter,
    /// The write is delayed.
    Delay(Duration),
}

/// The planned faults.
#[derive(Debug, Default)]
pub struct JournalFaults(watch::Sender<FaultPlan>);

#[derive(Debug, Default)]
struct FaultPlan {
    writes: usize,
    planned: BTreeMap<usize, JournalFault>,
    crashed: bool,
}

impl JournalFaults {
    /// Plans `fault` for the n-th write from now, starting with one.
    pub fn plan(&self, nth: usize, fault: JournalFault) {
        self.0.send_modify(|plan| {
            plan.planned.insert(plan.writes + nth, fault);
        });
    }

    /// Removes all faults, for a restart.
    pub fn reset(&self) {
        self.0.send_modify(|plan| {
            plan.planned.clear();
            plan.crashed = false;
        });
    }

    /// Waits for a simulated crash.
    pub async fn wait_for_crash(&self) {
        // This object owns the sender, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|plan| plan.crashed).await;
    }

    fn next_fault(&self) -> Option<JournalFault> {
        let mut next = None;
        self.0.send_modify(|plan| {
            plan.writes += 1;
            next = plan.planned.remove(&plan.writes);
        });
        next
    }

    async fn crash<T>(&self) -> T {
        self.0.send_modify(|plan| plan.crashed = true);
        std::future::pending().await
    }
}

/// A journal with injected faults.
pub struct FaultyJournal {
    pub journal: FrozenClockJournal,
    pub faults: Arc<JournalFaults>,
}

impl Journal for FaultyJournal {
    fn write(&self, records: Vec<Record>) -> BoxFuture<'_, Result<(), WriteError>> {
        async move {
            match self.faults.next_fault() {
                None => self.journal.write(records).await,
                Some(JournalFault::Fail) => Err(WriteError("the disk is full.".to_owned())),
                Some(JournalFault::Delay(time)) => {
                    tokio::time::sleep(time).await;
                    self.journal.write(records).await
                }
                Some(JournalFault::CrashBefore) => self.faults.crash().await,
                Some(JournalFault::CrashAfter) => {
                    self.journal.write(records).await?;
                    self.faults.crash().await
                }
            }
        }
        .boxed()
    }

    fn path(&self, head: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, ReadError>> {
        self.journal.path(head)
    }

    fn opening(&self, root: EntryId) -> BoxFuture<'_, Result<Option<PromptPrefix>, ReadError>> {
        self.journal.opening(root)
    }

    fn save_opening(&self, opening: PromptPrefix) -> BoxFuture<'_, Result<(), WriteError>> {
        self.journal.save_opening(opening)
    }

    fn recent_entries(
        &self,
        branch: Branch,
        before: Option<EntryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, ReadError>> {
        self.journal.recent_entries(branch, before, limit)
    }

    fn lineage(&self, limit: u32) -> BoxFuture<'_, Result<Lineage, ReadError>> {
        self.journal.lineage(limit)
    }

    fn entry(&self, id: EntryId) -> BoxFuture<'_, Result<Option<Entry>, ReadError>> {
        self.journal.entry(id)
    }

    fn side_messages(
        &self,
        from: EntryId,
        before: Option<EntryId>,
    ) -> BoxFuture<'_, Result<SideMessages, ReadError>> {
        self.journal.side_messages(from, before)
    }
}
