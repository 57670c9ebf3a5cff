//! The `tasks` commands and the format of tasks.

use accounts::AccountError;
use accounts::tasks::{Task, TaskChange, TaskFilter, TaskState};
use serde_json::{Value, json};

use super::{CommandOutput, TaskCommands, single_line, times};
use crate::cli::TaskAction;

impl TaskCommands<'_> {
    pub(super) async fn run(&self, action: TaskAction) -> Result<CommandOutput, AccountError> {
        match action {
            TaskAction::List { all } => {
                let tasks = self.list.list(if all { TaskFilter::All } else { TaskFilter::Open }).await?;
                let text = match tasks.as_slice() {
                    [] => "no tasks".to_owned(),
                    tasks => tasks.iter().map(line).collect::<Vec<_>>().join("\n"),
                };
                Ok(CommandOutput::new(text, json!({ "tasks": tasks.iter().map(value).collect::<Vec<_>>() })))
            }
            TaskAction::Add { title, due, notes } => {
                let title = Some(title.join(" ")).filter(|title| !title.trim().is_empty());
                let title = title
                    .ok_or_else(|| AccountError::InvalidRequest("say what is to be done.".to_owned()))?;
                let task = self.list.add(self.change(Some(title), due, notes)?).await?;
                let text = format!("added {}: {} -- {}", task.id, due_of(&task), single_line(&task.title));
                Ok(CommandOutput::new(text, json!({ "task": value(&task) })))
            }
            TaskAction::Done { id } => Ok(changed("completed", &self.list.complete(&id).await?)),
            TaskAction::Update { title: None, due: None, notes: None, .. } => {
                Err(AccountError::NotFound("nothing to change: say --title, --due or --notes.".to_owned()))
            }
            TaskAction::Update { id, title, due, notes } => {
                Ok(changed("updated", &self.list.update(&id, self.change(title, due, notes)?).await?))
            }
            TaskAction::Delete { id } => Ok(changed("deleted", &self.list.delete(&id).await?)),
        }
    }

    fn change(
        &self,
        title: Option<String>,
        due: Option<String>,
        notes: Option<String>,
    ) -> Result<TaskChange, AccountError> {
        let due = due.map(|due| times::parse_day(&due, &self.clock.now(), &self.habits)).transpose()?;
        Ok(TaskChange { title, due, notes })
    }
}

fn changed(what: &str, task: &Task) -> CommandOutput {
    CommandOutput::new(format!("{what} {}", task.id), json!({ "task": value(task) }))
}

fn line(task: &Task) -> String {
    let mark = match task.state {
        TaskState::Open => "[ ]",
        TaskState::Done => "[x]",
    };
    format!("  {}  {:<12}  {mark}  {}", task.id, due_of(task), single_line(&task.title))
}

fn due_of(task: &Task) -> String {
    task.due.map_or_else(|| "(no due)".to_owned(), |due| due.to_string())
}

fn value(task: &Task) -> Value {
    let status = match task.state {
        TaskState::Open => "open",
        TaskState::Done => "completed",
    };
    let due = task.due.map(|due| due.to_string());
    json!({ "id": task.id, "title": task.title, "due": due, "notes": task.notes, "status": status })
}
