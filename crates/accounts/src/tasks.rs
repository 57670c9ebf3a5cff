//! The interface of a task list, independent of its storage.

mod local;
pub(crate) mod task_file;

use futures_util::future::BoxFuture;
use jiff::civil::Date;

pub use local::LocalTaskList;

use crate::AccountError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The id in its list.
    pub id: String,
    /// May be blank.
    pub title: String,
    pub due: Option<Date>,
    pub notes: Option<String>,
    pub state: TaskState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    Open,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskFilter {
    /// Tasks that are not done.
    Open,
    All,
}

/// A new task, or the changes of an existing one; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskChange {
    pub title: Option<String>,
    pub due: Option<Date>,
    pub notes: Option<String>,
}

/// A list of tasks.
pub trait TaskList: Send + Sync {
    /// Returns the tasks of all pages.
    fn list(&self, which: TaskFilter) -> BoxFuture<'_, Result<Vec<Task>, AccountError>>;

    /// Adds a task and returns it as stored.
    fn add(&self, new: TaskChange) -> BoxFuture<'_, Result<Task, AccountError>>;

    /// Marks a task as done and returns it.
    fn complete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, AccountError>>;

    /// Changes a task and returns it.
    fn update<'a>(&'a self, id: &'a str, change: TaskChange) -> BoxFuture<'a, Result<Task, AccountError>>;

    /// Deletes a task and returns its last state.
    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, AccountError>>;
}

/// The error for an unknown task.
pub(crate) fn unknown_task(id: &str) -> AccountError {
    AccountError::NotFound(format!("there is no task `{id}`. `ollim-bot tasks list --all` shows their ids."))
}
