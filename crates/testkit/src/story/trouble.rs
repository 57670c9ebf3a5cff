//! Injected journal faults: a chosen write fails or stalls, or the program crashes at it.
//!
//! Writes are counted, so faults are deterministic.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::context::Opening;
use domain::conversation::{Branch, Entry, EntryId, Lineage, PathEntry};
use domain::record::Record;
use engine::ports::{Journal, Margin, Unreadable, Unwritten};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::held::HeldJournal;

/// A fault at a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The write fails with an error.
    Fails,
    /// The program crashes before the write.
    DiesBefore,
    /// The program crashes after the write, before it is acknowledged.
    DiesAfter,
    /// The write is delayed.
    Stalls(Duration),
}

/// The planned faults.
#[derive(Debug, Default)]
pub struct Troubles(watch::Sender<Plan>);

#[derive(Debug, Default)]
struct Plan {
    writes: usize,
    coming: BTreeMap<usize, Trouble>,
    died: bool,
}

impl Troubles {
    /// Plans `fault` for the n-th write from now, starting with one.
    pub fn plan(&self, nth: usize, trouble: Trouble) {
        self.0.send_modify(|plan| {
            plan.coming.insert(plan.writes + nth, trouble);
        });
    }

    /// Removes all faults, for a restart.
    pub fn end(&self) {
        self.0.send_modify(|plan| {
            plan.coming.clear();
            plan.died = false;
        });
    }

    /// Waits for a simulated crash.
    pub async fn died(&self) {
        // This object owns the sender, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|plan| plan.died).await;
    }

    fn next(&self) -> Option<Trouble> {
        let mut next = None;
        self.0.send_modify(|plan| {
            plan.writes += 1;
            next = plan.coming.remove(&plan.writes);
        });
        next
    }

    async fn die<T>(&self) -> T {
        self.0.send_modify(|plan| plan.died = true);
        std::future::pending().await
    }
}

/// A journal with injected faults.
pub struct Troubled {
    pub journal: HeldJournal,
    pub troubles: Arc<Troubles>,
}

impl Journal for Troubled {
    fn write(&self, records: Vec<Record>) -> BoxFuture<'_, Result<(), Unwritten>> {
        async move {
            match self.troubles.next() {
                None => self.journal.write(records).await,
                Some(Trouble::Fails) => Err(Unwritten("the disk is full.".to_owned())),
                Some(Trouble::Stalls(time)) => {
                    tokio::time::sleep(time).await;
                    self.journal.write(records).await
                }
                Some(Trouble::DiesBefore) => self.troubles.die().await,
                Some(Trouble::DiesAfter) => {
                    self.journal.write(records).await?;
                    self.troubles.die().await
                }
            }
        }
        .boxed()
    }

    fn path(&self, head: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, Unreadable>> {
        self.journal.path(head)
    }

    fn opening(&self, root: EntryId) -> BoxFuture<'_, Result<Option<Opening>, Unreadable>> {
        self.journal.opening(root)
    }

    fn keep_opening(&self, opening: Opening) -> BoxFuture<'_, Result<(), Unwritten>> {
        self.journal.keep_opening(opening)
    }

    fn recent(
        &self,
        branch: Branch,
        before: Option<EntryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, Unreadable>> {
        self.journal.recent(branch, before, limit)
    }

    fn lineage(&self, limit: u32) -> BoxFuture<'_, Result<Lineage, Unreadable>> {
        self.journal.lineage(limit)
    }

    fn entry(&self, id: EntryId) -> BoxFuture<'_, Result<Option<Entry>, Unreadable>> {
        self.journal.entry(id)
    }

    fn beside(&self, from: EntryId, before: Option<EntryId>) -> BoxFuture<'_, Result<Margin, Unreadable>> {
        self.journal.beside(from, before)
    }
}
