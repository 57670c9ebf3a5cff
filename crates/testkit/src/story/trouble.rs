//! Trouble with the journal: a chosen writing fails, or the program dies at it.
//!
//! Which writing that is is counted, so a story with trouble is told the same way every time.

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

/// What happens at a writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing is written, and that is said.
    Fails,
    /// The program dies before anything is written.
    DiesBefore,
    /// The program dies when all is written, before anybody knows.
    DiesAfter,
    /// It takes so long, and the loop waits for it.
    Stalls(Duration),
}

/// The troubles to come.
#[derive(Debug, Default)]
pub struct Troubles(watch::Sender<Plan>);

#[derive(Debug, Default)]
struct Plan {
    writes: usize,
    coming: BTreeMap<usize, Trouble>,
    died: bool,
}

impl Troubles {
    /// Lets `trouble` happen at the n-th writing from now; the next one is the first.
    pub fn plan(&self, nth: usize, trouble: Trouble) {
        self.0.send_modify(|plan| {
            plan.coming.insert(plan.writes + nth, trouble);
        });
    }

    /// A new life without troubles.
    pub fn end(&self) {
        self.0.send_modify(|plan| {
            plan.coming.clear();
            plan.died = false;
        });
    }

    /// Waits until the program should be dead.
    pub async fn died(&self) {
        // The sender is ours, so it is never gone.
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

/// A journal with troubles.
pub struct Troubled {
    /// The journal without them.
    pub journal: HeldJournal,
    /// The troubles.
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
