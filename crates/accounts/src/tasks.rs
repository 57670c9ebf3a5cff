//! Tasks: what is to be done and has no hour, wherever the list is kept.

mod local;
pub(crate) mod page;

use futures_util::future::BoxFuture;
use jiff::civil::Date;

pub use local::LocalTasks;

use crate::Trouble;

/// One task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its name in its list.
    pub id: String,
    /// What is to be done; blank, if nobody said.
    pub title: String,
    /// The day it is due.
    pub due: Option<Date>,
    /// More about it.
    pub notes: Option<String>,
    /// Whether it is done.
    pub state: State,
}

/// Whether a task is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is still to be done.
    Open,
    /// It is done.
    Done,
}

/// Which tasks are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those that are still to be done.
    Open,
    /// All of them.
    All,
}

/// A task to add, or what is to change of one: what is not given stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// What is to be done.
    pub title: Option<String>,
    /// The day it is due.
    pub due: Option<Date>,
    /// More about it.
    pub notes: Option<String>,
}

/// A list of tasks.
pub trait TaskList: Send + Sync {
    /// What is in it, all pages.
    fn list(&self, which: Which) -> BoxFuture<'_, Result<Vec<Task>, Trouble>>;

    /// Adds one; gives it back as it is kept.
    fn add(&self, new: Change) -> BoxFuture<'_, Result<Task, Trouble>>;

    /// Marks one as done; gives it back.
    fn done<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, Trouble>>;

    /// Changes one; gives it back.
    fn update<'a>(&'a self, id: &'a str, change: Change) -> BoxFuture<'a, Result<Task, Trouble>>;

    /// Removes one; gives back what it was.
    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, Trouble>>;
}

/// There is no task called `id`.
pub(crate) fn missing(id: &str) -> Trouble {
    Trouble::Missing(format!("there is no task `{id}`. `ollim-bot tasks list --all` shows their ids."))
}
