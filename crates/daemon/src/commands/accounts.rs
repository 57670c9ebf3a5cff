//! `ollim-bot tasks`, `cal`, `mail` and `google`: what the human keeps, wherever it is kept.
//!
//! Everything is told as a value first and printed in one place, so that it can be asked for without a shell too.

mod cal;
pub mod connecting;
mod google;
pub mod keepers;
mod mail;
mod shelf;
mod tasks;
mod times;

use std::process::ExitCode;
use std::sync::Arc;

use accounts::Trouble;
use accounts::calendar::Calendar;
use accounts::google::Service;
use accounts::mail::Mailbox;
use accounts::tasks::TaskList;
use domain::phrase::Habits;
use engine::ports::Clock;
use journal::disk::Disk;
use serde_json::Value;

use self::connecting::Readiness;
use super::answer;
use crate::cli::{Account, CalAction, GoogleAction, Output, TaskAction};
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
    let told = match wanted {
        // What goes wrong elsewhere is no mistake of the command line.
        Account::Mail { .. } | Account::Google { .. } => {
            let told = attended(wanted, settings, disk).await;
            told.map_err(|trouble| Failed::NotDone(trouble.to_string()))?
        }
        Account::Tasks { .. } | Account::Cal { .. } => {
            attended(wanted, settings, disk).await.map_err(failed)?
        }
    };
    answer(output, &told.value, &told.text);
    for aside in &told.aside {
        output.voice.note(aside);
    }
    Ok(ExitCode::SUCCESS)
}

/// The same as [`tell`], with a human before us who can connect what is not connected yet.
async fn attended(wanted: Account, settings: &Settings, disk: Arc<dyn Disk>) -> Result<Told, Trouble> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new(settings.zone.value.clone()));
    if let Account::Google { action: GoogleAction::Connect { services } } = &wanted {
        let account = crate::google::account(settings, Arc::clone(&disk), &clock)?;
        let named: Vec<Service> = services.iter().copied().map(Service::from).collect();
        let usual = &settings.places.accounts.at_google;
        if connecting::ready(&account, &connecting::requested(&account, &named, usual)?).await?
            == Readiness::JustConnected
        {
            return google::told(&account, &account.description()?);
        }
    } else if let Some(service) = keepers::google_service(&wanted, settings) {
        let account = crate::google::account(settings, Arc::clone(&disk), &clock)?;
        keepers::ready(&account, service).await?;
    }
    tell(wanted, settings, disk).await
}

/// Does what was asked for, and tells it. Nobody is asked to connect anything.
pub async fn tell(wanted: Account, settings: &Settings, disk: Arc<dyn Disk>) -> Result<Told, Trouble> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new(settings.zone.value.clone()));
    match wanted {
        Account::Tasks { action } => {
            let habits = journal::settings(&settings.paths, Arc::clone(&disk)).0.habits();
            let list = keepers::tasks(settings, disk, &clock)?;
            let desk = TaskDesk { list: list.as_ref(), clock: clock.as_ref(), habits };
            desk.tell(action.unwrap_or(TaskAction::List { all: false })).await
        }
        Account::Cal { action } => {
            let habits = journal::settings(&settings.paths, Arc::clone(&disk)).0.habits();
            let calendar = keepers::calendar(settings, disk, &clock)?;
            let desk = CalDesk { calendar: calendar.as_ref(), clock: clock.as_ref(), habits };
            desk.tell(action.unwrap_or(CalAction::Today)).await
        }
        Account::Mail { action } => {
            let mailbox = keepers::mailbox(settings, disk, &clock)?;
            MailDesk { mailbox: mailbox.as_ref(), clock: clock.as_ref() }.tell(action).await
        }
        Account::Google { action } => {
            google::tell(action, &crate::google::account(settings, disk, &clock)?).await
        }
    }
}

/// Somebody who answers what is asked about tasks.
struct TaskDesk<'a> {
    list: &'a dyn TaskList,
    clock: &'a dyn Clock,
    habits: Habits,
}

/// Somebody who answers what is asked about the calendar.
struct CalDesk<'a> {
    calendar: &'a dyn Calendar,
    clock: &'a dyn Clock,
    habits: Habits,
}

/// Somebody who answers what is asked about mail.
struct MailDesk<'a> {
    mailbox: &'a dyn Mailbox,
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
