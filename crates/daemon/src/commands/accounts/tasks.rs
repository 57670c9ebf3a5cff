//! The `tasks` commands and the format of tasks.

use accounts::Trouble;
use accounts::tasks::{Change, State, Task, Which};
use serde_json::{Value, json};

use super::{TaskDesk, Told, on_one_line, times};
use crate::cli::TaskAction;

impl TaskDesk<'_> {
    pub(super) async fn tell(&self, action: TaskAction) -> Result<Told, Trouble> {
        match action {
            TaskAction::List { all } => {
                let tasks = self.list.list(if all { Which::All } else { Which::Open }).await?;
                let text = match tasks.as_slice() {
                    [] => "no tasks".to_owned(),
                    tasks => tasks.iter().map(line).collect::<Vec<_>>().join("\n"),
                };
                Ok(Told::new(text, json!({ "tasks": tasks.iter().map(value).collect::<Vec<_>>() })))
            }
            TaskAction::Add { title, due, notes } => {
                let title = Some(title.join(" ")).filter(|title| !title.trim().is_empty());
                let title = title.ok_or_else(|| Trouble::Wrong("say what is to be done.".to_owned()))?;
                let task = self.list.add(self.change(Some(title), due, notes)?).await?;
                let text = format!("added {}: {} -- {}", task.id, due_of(&task), on_one_line(&task.title));
                Ok(Told::new(text, json!({ "task": value(&task) })))
            }
            TaskAction::Done { id } => Ok(told("completed", &self.list.done(&id).await?)),
            TaskAction::Update { title: None, due: None, notes: None, .. } => {
                Err(Trouble::Missing("nothing to change: say --title, --due or --notes.".to_owned()))
            }
            TaskAction::Update { id, title, due, notes } => {
                Ok(told("updated", &self.list.update(&id, self.change(title, due, notes)?).await?))
            }
            TaskAction::Delete { id } => Ok(told("deleted", &self.list.delete(&id).await?)),
        }
    }

    fn change(
        &self,
        title: Option<String>,
        due: Option<String>,
        notes: Option<String>,
    ) -> Result<Change, Trouble> {
        let due = due.map(|due| times::day(&due, &self.clock.now(), &self.habits)).transpose()?;
        Ok(Change { title, due, notes })
    }
}

fn told(what: &str, task: &Task) -> Told {
    Told::new(format!("{what} {}", task.id), json!({ "task": value(task) }))
}

fn line(task: &Task) -> String {
    let mark = match task.state {
        State::Open => "[ ]",
        State::Done => "[x]",
    };
    format!("  {}  {:<12}  {mark}  {}", task.id, due_of(task), on_one_line(&task.title))
}

fn due_of(task: &Task) -> String {
    task.due.map_or_else(|| "(no due)".to_owned(), |due| due.to_string())
}

fn value(task: &Task) -> Value {
    let status = match task.state {
        State::Open => "open",
        State::Done => "completed",
    };
    let due = task.due.map(|due| due.to_string());
    json!({ "id": task.id, "title": task.title, "due": due, "notes": task.notes, "status": status })
}
