//! The interface of a task list, independent of its storage.

mod local;
pub(crate) mod page;

use futures_util::future::BoxFuture;
use jiff::civil::Date;

pub use local::LocalTasks;

use crate::Trouble;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The id in its list.
    pub id: String,
    /// May be blank.
    pub title: String,
    pub due: Option<Date>,
    pub notes: Option<String>,
    pub state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Open,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Tasks that are not done.
    Open,
    All,
}

/// A new task, or the changes of an existing one; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    pub title: Option<String>,
    pub due: Option<Date>,
    pub notes: Option<String>,
}

/// A list of tasks.
pub trait TaskList: Send + Sync {
    /// Returns the tasks of all pages.
    fn list(&self, which: Which) -> BoxFuture<'_, Result<Vec<Task>, Trouble>>;

    /// Adds a task and returns it as stored.
    fn add(&self, new: Change) -> BoxFuture<'_, Result<Task, Trouble>>;

    /// Marks a task as done and returns it.
    fn done<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, Trouble>>;

    /// Changes a task and returns it.
    fn update<'a>(&'a self, id: &'a str, change: Change) -> BoxFuture<'a, Result<Task, Trouble>>;

    /// Deletes a task and returns its last state.
    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, Trouble>>;
}

/// The error for an unknown task.
pub(crate) fn missing(id: &str) -> Trouble {
    Trouble::Missing(format!("there is no task `{id}`. `ollim-bot tasks list --all` shows their ids."))
}
