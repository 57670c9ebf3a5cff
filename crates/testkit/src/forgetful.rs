//! A journal that accepts all writes and stores nothing, for tests of other parts.

use domain::conversation::{Branch, Entry, EntryId, Lineage, PathEntry};
use domain::record::Record;
use engine::ports::{Journal, Margin, Unreadable, Unwritten};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

/// Accepts all writes and stores nothing.
#[derive(Clone, Copy, Debug)]
pub struct Forgetful;

impl Journal for Forgetful {
    fn write(&self, _: Vec<Record>) -> BoxFuture<'_, Result<(), Unwritten>> {
        ready(Ok(())).boxed()
    }

    fn path(&self, _: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, Unreadable>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn recent(
        &self,
        _: Branch,
        _: Option<EntryId>,
        _: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, Unreadable>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn lineage(&self, _: u32) -> BoxFuture<'_, Result<Lineage, Unreadable>> {
        ready(Ok(Lineage::default())).boxed()
    }

    fn entry(&self, _: EntryId) -> BoxFuture<'_, Result<Option<Entry>, Unreadable>> {
        ready(Ok(None)).boxed()
    }

    fn beside(&self, _: EntryId, _: Option<EntryId>) -> BoxFuture<'_, Result<Margin, Unreadable>> {
        ready(Ok(Margin::default())).boxed()
    }
}
