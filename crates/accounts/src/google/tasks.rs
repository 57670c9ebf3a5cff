//! The default task list of a Google account.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::civil::Date;
use serde_json::{Map, Value, json};

use super::addresses::below;
use super::call::{Ask, checked};
use super::wire::{Task as Sent, Tasks};
use super::{Google, Service};
use crate::Trouble;
use crate::mail::legible;
use crate::tasks::{Change, State, Task, TaskList, Which};

/// The page size.
const PAGE: &str = "100";
/// The maximum number of listed tasks.
const MOST: usize = 10_000;
/// The maximum number of characters of a title.
const TITLE: usize = 1_024;

impl TaskList for Google {
    fn list(&self, which: Which) -> BoxFuture<'_, Result<Vec<Task>, Trouble>> {
        async move {
            let done = match which {
                Which::Open => "false",
                Which::All => "true",
            };
            let words = [("maxResults", PAGE), ("showCompleted", done), ("showHidden", done)];
            let ask = Ask::get(Service::Tasks, self.addresses.tasks.clone(), "tasks").with(&words);
            Ok(self.listed::<Tasks>(&ask, MOST).await?.into_iter().map(task).collect())
        }
        .boxed()
    }

    fn add(&self, new: Change) -> BoxFuture<'_, Result<Task, Trouble>> {
        async move {
            let ask = Ask::post(Service::Tasks, self.addresses.tasks.clone(), fields(&new), "task list");
            self.asked(&ask).await.map(task)
        }
        .boxed()
    }

    fn done<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, Trouble>> {
        async move {
            let (address, about) = self.task(id)?;
            self.asked(&Ask::patch(Service::Tasks, address, json!({ "status": "completed" }), about))
                .await
                .map(task)
        }
        .boxed()
    }

    fn update<'a>(&'a self, id: &'a str, change: Change) -> BoxFuture<'a, Result<Task, Trouble>> {
        async move {
            let (address, about) = self.task(id)?;
            self.asked(&Ask::patch(Service::Tasks, address, fields(&change), about)).await.map(task)
        }
        .boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, Trouble>> {
        async move {
            let (address, about) = self.task(id)?;
            let was =
                self.asked(&Ask::get(Service::Tasks, address.clone(), about.clone())).await.map(task)?;
            self.told(&Ask::delete(Service::Tasks, address, about)).await?;
            Ok(was)
        }
        .boxed()
    }
}

impl Google {
    fn task(&self, id: &str) -> Result<(reqwest::Url, String), Trouble> {
        Ok((below(&self.addresses.tasks, &[checked(id, "task")?]), format!("task `{id}`")))
    }
}

fn fields(change: &Change) -> Value {
    let mut fields = Map::new();
    let due = change.due.map(|due| format!("{due}T00:00:00.000Z"));
    for (name, value) in [("title", &change.title), ("notes", &change.notes), ("due", &due)] {
        if let Some(value) = value {
            fields.insert(name.to_owned(), json!(value));
        }
    }
    Value::Object(fields)
}

fn task(sent: Sent) -> Task {
    let due = sent.due.as_deref().and_then(|due| due.get(..10)?.parse::<Date>().ok());
    let state = if sent.status == "completed" { State::Done } else { State::Open };
    let notes = sent.notes.as_deref().map(legible::lines);
    Task { id: sent.id, title: legible::line(&sent.title, TITLE), due, notes, state }
}
