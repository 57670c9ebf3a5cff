//! The default task list of a Google account.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::civil::Date;
use serde_json::{Map, Value, json};

use super::api_request::{GoogleRequest, validate_id};
use super::endpoints::append_path;
use super::responses::{GoogleTask as Sent, TaskListPage};
use super::{Google, Service};
use crate::AccountError;
use crate::mail::sanitized_text;
use crate::tasks::{Task, TaskChange, TaskFilter, TaskList, TaskState};

/// The page size.
const PAGE_SIZE: &str = "100";
/// The maximum number of listed tasks.
const MAX_TASKS: usize = 10_000;
/// The maximum number of characters of a title.
const MAX_TITLE_CHARS: usize = 1_024;

impl TaskList for Google {
    fn list(&self, which: TaskFilter) -> BoxFuture<'_, Result<Vec<Task>, AccountError>> {
        async move {
            let done = match which {
                TaskFilter::Open => "false",
                TaskFilter::All => "true",
            };
            let words = [("maxResults", PAGE_SIZE), ("showCompleted", done), ("showHidden", done)];
            let ask =
                GoogleRequest::get(Service::Tasks, self.endpoints.tasks.clone(), "tasks").with_query(&words);
            Ok(self.list_all::<TaskListPage>(&ask, MAX_TASKS).await?.into_iter().map(parse_task).collect())
        }
        .boxed()
    }

    fn add(&self, new: TaskChange) -> BoxFuture<'_, Result<Task, AccountError>> {
        async move {
            let ask = GoogleRequest::post(
                Service::Tasks,
                self.endpoints.tasks.clone(),
                change_fields(&new),
                "task list",
            );
            self.fetch(&ask).await.map(parse_task)
        }
        .boxed()
    }

    fn complete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, AccountError>> {
        async move {
            let (address, about) = self.task_url(id)?;
            self.fetch(&GoogleRequest::patch(
                Service::Tasks,
                address,
                json!({ "status": "completed" }),
                about,
            ))
            .await
            .map(parse_task)
        }
        .boxed()
    }

    fn update<'a>(&'a self, id: &'a str, change: TaskChange) -> BoxFuture<'a, Result<Task, AccountError>> {
        async move {
            let (address, about) = self.task_url(id)?;
            self.fetch(&GoogleRequest::patch(Service::Tasks, address, change_fields(&change), about))
                .await
                .map(parse_task)
        }
        .boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Task, AccountError>> {
        async move {
            let (address, about) = self.task_url(id)?;
            let was = self
                .fetch(&GoogleRequest::get(Service::Tasks, address.clone(), about.clone()))
                .await
                .map(parse_task)?;
            self.execute(&GoogleRequest::delete(Service::Tasks, address, about)).await?;
            Ok(was)
        }
        .boxed()
    }
}

impl Google {
    fn task_url(&self, id: &str) -> Result<(reqwest::Url, String), AccountError> {
        Ok((append_path(&self.endpoints.tasks, &[validate_id(id, "task")?]), format!("task `{id}`")))
    }
}

fn change_fields(change: &TaskChange) -> Value {
    let mut fields = Map::new();
    let due = change.due.map(|due| format!("{due}T00:00:00.000Z"));
    for (name, value) in [("title", &change.title), ("notes", &change.notes), ("due", &due)] {
        if let Some(value) = value {
            fields.insert(name.to_owned(), json!(value));
        }
    }
    Value::Object(fields)
}

fn parse_task(sent: Sent) -> Task {
    let due = sent.due.as_deref().and_then(|due| due.get(..10)?.parse::<Date>().ok());
    let state = if sent.status == "completed" { TaskState::Done } else { TaskState::Open };
    let notes = sent.notes.as_deref().map(sanitized_text::multi_line);
    Task { id: sent.id, title: sanitized_text::single_line(&sent.title, MAX_TITLE_CHARS), due, notes, state }
}
