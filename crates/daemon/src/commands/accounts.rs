//! `ollim-bot tasks`, `cal`, `mail` and `google`, for local files and remote accounts.
//!
//! Every command returns a [`CommandOutput`]; only [`run`] prints, so the model's tools can use the
//! commands too.

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

/// The result of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// For the user and the model.
    pub text: String,
    /// For `--json`.
    pub value: Value,
    /// Notes printed to stderr, one sentence for each entry that was left out.
    pub aside: Vec<String>,
}

impl Told {
    fn new(text: String, value: Value) -> Self {
        Self { text, value, aside: Vec::new() }
    }
}

/// Runs the command and prints its result.
pub async fn run(
    wanted: Account,
    settings: &Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let told = match wanted {
        // A failure of a remote service is not a usage error.
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

/// Like [`execute`], but asks the user at the terminal to connect an account that is not connected.
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

/// Runs the command and returns its result. Never asks to connect an account.
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

/// The `tasks` commands.
struct TaskDesk<'a> {
    list: &'a dyn TaskList,
    clock: &'a dyn Clock,
    habits: Habits,
}

/// The `cal` commands.
struct CalDesk<'a> {
    calendar: &'a dyn Calendar,
    clock: &'a dyn Clock,
    habits: Habits,
}

/// The `mail` commands.
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

/// Returns `text` with all whitespace collapsed to single spaces.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
