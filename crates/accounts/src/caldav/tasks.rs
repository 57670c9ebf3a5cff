//! A list of tasks on a CalDAV server.

use std::sync::Arc;

use engine::ports::Clock;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::CalDavSettings;
use super::collection::{Collection, Object, ObjectUpdate};
use super::requests::{ObjectFilter, ObjectKind};
use crate::ical::{ChangeContext, Todo, add_todo};
use crate::tasks::{Task, TaskChange, TaskFilter, TaskList, TaskState, unknown_task};
use crate::{AccountError, random};

/// A list of tasks on a CalDAV server.
pub struct CalDavTasks {
    collection: Collection,
    clock: Arc<dyn Clock>,
}

impl CalDavTasks {
    /// Creates a client for the list of the settings, without a request.
    pub fn new(settings: CalDavSettings, clock: Arc<dyn Clock>) -> Result<Self, AccountError> {
        Ok(Self { collection: Collection::new(settings, ObjectKind::Todo)?, clock })
    }

    /// Returns the tasks of an object. An unreadable one has none.
    fn parse_tasks(&self, bytes: &[u8]) -> Vec<Todo> {
        Todo::parse_all(&self.collection.source_name(), bytes, self.clock.now().time_zone())
            .unwrap_or_default()
    }

    async fn list_tasks(&self, which: TaskFilter) -> Result<Vec<Task>, AccountError> {
        let objects = self.collection.query_objects(&ObjectFilter::All(ObjectKind::Todo)).await?.objects;
        let all = objects.iter().flat_map(|object| self.parse_tasks(&object.bytes)).map(|todo| todo.task);
        let mut tasks: Vec<_> =
            all.filter(|task| which == TaskFilter::All || task.state == TaskState::Open).collect();
        // The server's order is arbitrary: sorted by due date, then title.
        tasks.sort_by(|a, b| {
            (a.due.is_none(), a.due, &a.title, &a.id).cmp(&(b.due.is_none(), b.due, &b.title, &b.id))
        });
        Ok(tasks)
    }

    async fn find_object(&self, id: &str) -> Result<Object, AccountError> {
        let objects =
            self.collection.query_objects(&ObjectFilter::ByUid(ObjectKind::Todo, id)).await?.objects;
        let holds = |object: &Object| self.parse_tasks(&object.bytes).iter().any(|todo| todo.task.id == id);
        objects.into_iter().find(holds).ok_or_else(|| unknown_task(id))
    }

    fn stamp(&self) -> Result<ChangeContext, AccountError> {
        Ok(ChangeContext { now: self.clock.now(), random: random::random_bytes()? })
    }

    async fn add_task(&self, new: &TaskChange) -> Result<Task, AccountError> {
        if new.title.as_deref().unwrap_or_default().trim().is_empty() {
            return Err(AccountError::InvalidRequest(
                "a task needs a title: say what is to be done.".to_owned(),
            ));
        }
        let (bytes, task) = add_todo(new, &self.stamp()?);
        self.collection.add(&task.id, bytes).await?;
        Ok(task)
    }

    async fn change_task(
        &self,
        id: &str,
        make: impl Fn(&Todo, &ChangeContext) -> (ObjectUpdate, Task),
    ) -> Result<Task, AccountError> {
        let object = self.find_object(id).await?;
        let stamp = self.stamp()?;
        let changed = |bytes: &[u8]| {
            let todo = self
                .parse_tasks(bytes)
                .into_iter()
                .find(|todo| todo.task.id == id)
                .ok_or_else(|| unknown_task(id))?;
            Ok(make(&todo, &stamp))
        };
        self.collection.change(&object.url, changed).await
    }
}

fn replacement((bytes, task): (Vec<u8>, Task)) -> (ObjectUpdate, Task) {
    (ObjectUpdate::Replace(bytes), task)
}

impl TaskList for CalDavTasks {
    fn list(&self, which: TaskFilter) -> BoxFuture<'_, Result<Vec<Task>, AccountError>> {
        self.list_tasks(which).boxed()
    }

    fn add(&self, new: TaskChange) -> BoxFuture<'_, Result<Task, AccountError>> {
        async move { self.add_task(&new).await }.boxed()
    }

    fn complete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, AccountError>> {
        self.change_task(id, |todo, stamp| replacement(todo.completed(stamp))).boxed()
    }

    fn update<'a>(&'a self, id: &'a str, change: TaskChange) -> BoxFuture<'a, Result<Task, AccountError>> {
        async move { self.change_task(id, |todo, stamp| replacement(todo.updated(&change, stamp))).await }
            .boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, AccountError>> {
        self.change_task(id, |todo, _| (ObjectUpdate::Delete, todo.task.clone())).boxed()
    }
}
