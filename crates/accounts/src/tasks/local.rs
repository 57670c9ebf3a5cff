//! A task list in a local file.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::page::Page;
use super::{Change, State, Task, TaskList, Which};
use crate::Trouble;
use crate::shelf::{Sheet, Shelf};

/// The maximum size of the file in bytes.
const BIGGEST: usize = 4_000_000;

/// A task list in a Markdown file.
pub struct LocalTasks(Sheet);

impl LocalTasks {
    /// Creates the list in the file at `path`, which may not exist yet.
    pub fn new(shelf: Arc<dyn Shelf>, path: PathBuf) -> Self {
        Self(Sheet::new(shelf, path, BIGGEST))
    }

    async fn change(
        &self,
        make: impl Fn(&Page<'_>) -> Result<(Vec<u8>, Task), Trouble>,
    ) -> Result<Task, Trouble> {
        let changed = |bytes: Option<&[u8]>| {
            let (bytes, task) = make(&Page::read(bytes.unwrap_or_default()))?;
            Ok((Some(bytes), task))
        };
        self.0.change(changed).await
    }

    async fn listed(&self, which: Which) -> Result<Vec<Task>, Trouble> {
        let named = |bytes: Option<&[u8]>| {
            let page = Page::read(bytes.unwrap_or_default());
            Ok((page.named(), page.tasks()))
        };
        let mut tasks = match self.0.change(named).await {
            Ok(tasks) => tasks,
            // A read-only list is still listed; the computed ids are the same.
            Err(Trouble::Away(_)) => Page::read(&self.0.read()?.unwrap_or_default()).tasks(),
            Err(trouble) => return Err(trouble),
        };
        tasks.retain(|task| which == Which::All || task.state == State::Open);
        Ok(tasks)
    }
}

impl TaskList for LocalTasks {
    fn list(&self, which: Which) -> BoxFuture<'_, Result<Vec<Task>, Trouble>> {
        self.listed(which).boxed()
    }

    fn add(&self, new: Change) -> BoxFuture<'_, Result<Task, Trouble>> {
        async move { self.change(|page| page.add(&new)).await }.boxed()
    }

    fn done<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, Trouble>> {
        async move { self.change(|page| page.done(id)).await }.boxed()
    }

    fn update<'a>(&'a self, id: &'a str, change: Change) -> BoxFuture<'a, Result<Task, Trouble>> {
        async move { self.change(|page| page.update(id, &change)).await }.boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, Trouble>> {
        async move { self.change(|page| page.delete(id)).await }.boxed()
    }
}

#[cfg(test)]
mod tests;
