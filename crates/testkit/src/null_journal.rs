//! A journal that accepts all writes and stores nothing, for tests of other parts.

use domain::conversation::{Branch, Entry, EntryId, Lineage, PathEntry};
use domain::record::Record;
use engine::ports::{Journal, ReadError, SideMessages, WriteError};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

/// Accepts all writes and stores nothing.
#[derive(Clone, Copy, Debug)]
pub struct NullJournal;

impl Journal for NullJournal {
    fn write(&self, _: Vec<Record>) -> BoxFuture<'_, Result<(), WriteError>> {
        ready(Ok(())).boxed()
    }

    fn path(&self, _: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, ReadError>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn recent_entries(
        &self,
        _: Branch,
        _: Option<EntryId>,
        _: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, ReadError>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn lineage(&self, _: u32) -> BoxFuture<'_, Result<Lineage, ReadError>> {
        ready(Ok(Lineage::default())).boxed()
    }

    fn entry(&self, _: EntryId) -> BoxFuture<'_, Result<Option<Entry>, ReadError>> {
        ready(Ok(None)).boxed()
    }

    fn side_messages(
        &self,
        _: EntryId,
        _: Option<EntryId>,
    ) -> BoxFuture<'_, Result<SideMessages, ReadError>> {
        ready(Ok(SideMessages::default())).boxed()
    }
}
