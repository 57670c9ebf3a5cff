//! A list of tasks on a CalDAV server.

use std::sync::Arc;

use engine::ports::Clock;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::Settings;
use super::collection::{Collection, Fate, Object};
use super::requests::{Kind, Wanted};
use crate::ical::{Stamp, Todo, add_todo};
use crate::tasks::{Change, State, Task, TaskList, Which, missing};
use crate::{Trouble, dice};

/// A list of tasks on a CalDAV server.
pub struct CalDavTasks {
    objects: Collection,
    clock: Arc<dyn Clock>,
}

impl CalDavTasks {
    /// Creates a client for the list of the settings, without a request.
    pub fn new(settings: Settings, clock: Arc<dyn Clock>) -> Result<Self, Trouble> {
        Ok(Self { objects: Collection::new(settings, Kind::Todo)?, clock })
    }

    /// Returns the tasks of an object. An unreadable one has none.
    fn of(&self, bytes: &[u8]) -> Vec<Todo> {
        Todo::all(&self.objects.name(), bytes, self.clock.now().time_zone()).unwrap_or_default()
    }

    async fn listed(&self, which: Which) -> Result<Vec<Task>, Trouble> {
        let objects = self.objects.objects(&Wanted::All(Kind::Todo)).await?.objects;
        let all = objects.iter().flat_map(|object| self.of(&object.bytes)).map(|todo| todo.task);
        let mut tasks: Vec<_> = all.filter(|task| which == Which::All || task.state == State::Open).collect();
        // The server's order is arbitrary: sorted by due date, then title.
        tasks.sort_by(|a, b| {
            (a.due.is_none(), a.due, &a.title, &a.id).cmp(&(b.due.is_none(), b.due, &b.title, &b.id))
        });
        Ok(tasks)
    }

    async fn object(&self, id: &str) -> Result<Object, Trouble> {
        let objects = self.objects.objects(&Wanted::Called(Kind::Todo, id)).await?.objects;
        let holds = |object: &Object| self.of(&object.bytes).iter().any(|todo| todo.task.id == id);
        objects.into_iter().find(holds).ok_or_else(|| missing(id))
    }

    fn stamp(&self) -> Result<Stamp, Trouble> {
        Ok(Stamp { now: self.clock.now(), dice: dice::rolled()? })
    }

    async fn added(&self, new: &Change) -> Result<Task, Trouble> {
        if new.title.as_deref().unwrap_or_default().trim().is_empty() {
            return Err(Trouble::Wrong("a task needs a title: say what is to be done.".to_owned()));
        }
        let (bytes, task) = add_todo(new, &self.stamp()?);
        self.objects.add(&task.id, bytes).await?;
        Ok(task)
    }

    async fn change(&self, id: &str, make: impl Fn(&Todo, &Stamp) -> (Fate, Task)) -> Result<Task, Trouble> {
        let object = self.object(id).await?;
        let stamp = self.stamp()?;
        let changed = |bytes: &[u8]| {
            let todo =
                self.of(bytes).into_iter().find(|todo| todo.task.id == id).ok_or_else(|| missing(id))?;
            Ok(make(&todo, &stamp))
        };
        self.objects.change(&object.url, changed).await
    }
}

fn holds((bytes, task): (Vec<u8>, Task)) -> (Fate, Task) {
    (Fate::Holds(bytes), task)
}

impl TaskList for CalDavTasks {
    fn list(&self, which: Which) -> BoxFuture<'_, Result<Vec<Task>, Trouble>> {
        self.listed(which).boxed()
    }

    fn add(&self, new: Change) -> BoxFuture<'_, Result<Task, Trouble>> {
        async move { self.added(&new).await }.boxed()
    }

    fn done<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, Trouble>> {
        self.change(id, |todo, stamp| holds(todo.done(stamp))).boxed()
    }

    fn update<'a>(&'a self, id: &'a str, change: Change) -> BoxFuture<'a, Result<Task, Trouble>> {
        async move { self.change(id, |todo, stamp| holds(todo.updated(&change, stamp))).await }.boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, Trouble>> {
        self.change(id, |todo, _| (Fate::Goes, todo.task.clone())).boxed()
    }
}
