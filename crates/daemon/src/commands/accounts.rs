//! `ollim-bot tasks` and `ollim-bot cal`: what the human keeps, wherever it is kept.
//!
//! Everything is told as a value first and printed in one place, so that it can be asked for without a shell too.

mod cal;
pub mod keepers;
mod shelf;
mod tasks;
mod times;

use std::process::ExitCode;
use std::sync::Arc;

use accounts::Trouble;
use accounts::calendar::Calendar;
use accounts::tasks::TaskList;
use engine::ports::Clock;
use journal::disk::Disk;
use serde_json::Value;

use super::answer;
use crate::cli::{Account, CalAction, Output, TaskAction};
use crate::clock::SystemClock;
use crate::exit::Failed;
use crate::settings::Settings;

/// What a command has to tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// For people, and for the model.
    pub text: String,
    /// For programs.
    pub value: Value,
    /// What is said beside it: a sentence for each thing that had to be left out.
    pub aside: Vec<String>,
}

impl Told {
    fn new(text: String, value: Value) -> Self {
        Self { text, value, aside: Vec::new() }
    }
}

/// Does what was asked for, and prints what there is to tell.
pub async fn run(
    wanted: Account,
    settings: &Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let told = tell(wanted, settings, disk).await.map_err(failed)?;
    answer(output, &told.value, &told.text);
    for aside in &told.aside {
        output.voice.note(aside);
    }
    Ok(ExitCode::SUCCESS)
}

/// Does what was asked for, and tells it.
pub async fn tell(wanted: Account, settings: &Settings, disk: Arc<dyn Disk>) -> Result<Told, Trouble> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new(settings.zone.value.clone()));
    match wanted {
        Account::Tasks { action } => {
            let list = keepers::tasks(settings, disk, &clock)?;
            let desk = TaskDesk { list: list.as_ref(), clock: clock.as_ref() };
            desk.tell(action.unwrap_or(TaskAction::List { all: false })).await
        }
        Account::Cal { action } => {
            let calendar = keepers::calendar(settings, disk, &clock)?;
            let desk = CalDesk { calendar: calendar.as_ref(), clock: clock.as_ref() };
            desk.tell(action.unwrap_or(CalAction::Today)).await
        }
    }
}

/// Somebody who answers what is asked about tasks.
struct TaskDesk<'a> {
    list: &'a dyn TaskList,
    clock: &'a dyn Clock,
}

/// Somebody who answers what is asked about the calendar.
struct CalDesk<'a> {
    calendar: &'a dyn Calendar,
    clock: &'a dyn Clock,
}

fn failed(trouble: Trouble) -> Failed {
    match trouble {
        Trouble::Wrong(what) => Failed::Usage(what),
        Trouble::Missing(what)
        | Trouble::Unconnected(what)
        | Trouble::Away(what)
        | Trouble::Garbled(what) => Failed::NotDone(what),
    }
}

/// Words on one line.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
