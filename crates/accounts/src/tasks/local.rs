//! A task list in a local file.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::task_file::TaskFile;
use super::{Task, TaskChange, TaskFilter, TaskList, TaskState};
use crate::AccountError;
use crate::file_store::{FileStore, StoredFile};

/// The maximum size of the file in bytes.
const MAX_BYTES: usize = 4_000_000;

/// A task list in a Markdown file.
pub struct LocalTaskList(StoredFile);

impl LocalTaskList {
    /// Creates the list in the file at `path`, which may not exist yet.
    pub fn new(store: Arc<dyn FileStore>, path: PathBuf) -> Self {
        Self(StoredFile::new(store, path, MAX_BYTES))
    }

    async fn change(
        &self,
        make: impl Fn(&TaskFile<'_>) -> Result<(Vec<u8>, Task), AccountError>,
    ) -> Result<Task, AccountError> {
        let changed = |bytes: Option<&[u8]>| {
            let (bytes, task) = make(&TaskFile::parse(bytes.unwrap_or_default()))?;
            Ok((Some(bytes), task))
        };
        self.0.change(changed).await
    }

    async fn list_tasks(&self, which: TaskFilter) -> Result<Vec<Task>, AccountError> {
        let with_ids = |bytes: Option<&[u8]>| {
            let page = TaskFile::parse(bytes.unwrap_or_default());
            Ok((page.with_ids(), page.tasks()))
        };
        let mut tasks = match self.0.change(with_ids).await {
            Ok(tasks) => tasks,
            // A read-only list is still listed; the computed ids are the same.
            Err(AccountError::Unavailable(_)) => TaskFile::parse(&self.0.read()?.unwrap_or_default()).tasks(),
            Err(trouble) => return Err(trouble),
        };
        tasks.retain(|task| which == TaskFilter::All || task.state == TaskState::Open);
        Ok(tasks)
    }
}

impl TaskList for LocalTaskList {
    fn list(&self, which: TaskFilter) -> BoxFuture<'_, Result<Vec<Task>, AccountError>> {
        self.list_tasks(which).boxed()
    }

    fn add(&self, new: TaskChange) -> BoxFuture<'_, Result<Task, AccountError>> {
        async move { self.change(|page| page.add(&new)).await }.boxed()
    }

    fn complete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, AccountError>> {
        async move { self.change(|page| page.complete(id)).await }.boxed()
    }

    fn update<'a>(&'a self, id: &'a str, change: TaskChange) -> BoxFuture<'a, Result<Task, AccountError>> {
        async move { self.change(|page| page.update(id, &change)).await }.boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, AccountError>> {
        async move { self.change(|page| page.delete(id)).await }.boxed()
    }
}

#[cfg(test)]
mod tests;
