//! `ollim-bot tasks`, `cal`, `mail` and `google`, for local files and remote accounts.
//!
//! Every command returns a [`CommandOutput`]; only [`run`] prints, so the model's tools can use the
//! commands too.

pub mod backends;
mod cal;
mod file_store;
mod google;
pub mod google_sign_in;
mod mail;
mod tasks;
mod times;

use std::process::ExitCode;
use std::sync::Arc;

use accounts::AccountError;
use accounts::calendar::Calendar;
use accounts::google::Service;
use accounts::mail::Mailbox;
use accounts::tasks::TaskList;
use domain::phrase::Habits;
use engine::ports::Clock;
use journal::disk::Disk;
use serde_json::Value;

use self::google_sign_in::Readiness;
use super::print_result;
use crate::cli::{AccountCommand, CalAction, GoogleAction, Output, TaskAction};
use crate::clock::SystemClock;
use crate::exit::CommandError;
use crate::settings::Settings;

/// The result of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandOutput {
    /// For the user and the model.
    pub text: String,
    /// For `--json`.
    pub value: Value,
    /// Notes printed to stderr, one sentence for each entry that was left out.
    pub notes: Vec<String>,
}

impl CommandOutput {
    fn new(text: String, value: Value) -> Self {
        Self { text, value, notes: Vec::new() }
    }
}

/// Runs the command and prints its result.
pub async fn run(
    command: AccountCommand,
    settings: &Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let told = match command {
        // A failure of a remote service is not a usage error.
        AccountCommand::Mail { .. } | AccountCommand::Google { .. } => {
            let told = execute_attended(command, settings, disk).await;
            told.map_err(|trouble| CommandError::Failed(trouble.to_string()))?
        }
        AccountCommand::Tasks { .. } | AccountCommand::Cal { .. } => {
            execute_attended(command, settings, disk).await.map_err(to_command_error)?
        }
    };
    print_result(output, &told.value, &told.text);
    for aside in &told.notes {
        output.voice.note(aside);
    }
    Ok(ExitCode::SUCCESS)
}

/// Like [`execute`], but asks the user at the terminal to connect an account that is not connected.
async fn execute_attended(
    command: AccountCommand,
    settings: &Settings,
    disk: Arc<dyn Disk>,
) -> Result<CommandOutput, AccountError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new(settings.zone.value.clone()));
    if let AccountCommand::Google { action: GoogleAction::Connect { services } } = &command {
        let account = crate::google::account(settings, Arc::clone(&disk), &clock)?;
        let named: Vec<Service> = services.iter().copied().map(Service::from).collect();
        let usual = &settings.integrations.accounts.google_services;
        if google_sign_in::ensure_granted(
            &account,
            &google_sign_in::services_to_request(&account, &named, usual)?,
        )
        .await?
            == Readiness::JustConnected
        {
            return google::with_connection(&account, &account.description()?);
        }
    } else if let Some(service) = backends::google_service(&command, settings) {
        let account = crate::google::account(settings, Arc::clone(&disk), &clock)?;
        backends::ensure_granted(&account, service).await?;
    }
    execute(command, settings, disk).await
}

/// Runs the command and returns its result. Never asks to connect an account.
pub async fn execute(
    command: AccountCommand,
    settings: &Settings,
    disk: Arc<dyn Disk>,
) -> Result<CommandOutput, AccountError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new(settings.zone.value.clone()));
    match command {
        AccountCommand::Tasks { action } => {
            let habits = journal::settings(&settings.paths, Arc::clone(&disk)).0.habits();
            let list = backends::tasks(settings, disk, &clock)?;
            let desk = TaskCommands { list: list.as_ref(), clock: clock.as_ref(), habits };
            desk.run(action.unwrap_or(TaskAction::List { all: false })).await
        }
        AccountCommand::Cal { action } => {
            let habits = journal::settings(&settings.paths, Arc::clone(&disk)).0.habits();
            let calendar = backends::calendar(settings, disk, &clock)?;
            let desk = CalendarCommands { calendar: calendar.as_ref(), clock: clock.as_ref(), habits };
            desk.run(action.unwrap_or(CalAction::Today)).await
        }
        AccountCommand::Mail { action } => {
            let mailbox = backends::mailbox(settings, disk, &clock)?;
            MailCommands { mailbox: mailbox.as_ref(), clock: clock.as_ref() }.run(action).await
        }
        AccountCommand::Google { action } => {
            google::run(action, &crate::google::account(settings, disk, &clock)?).await
        }
    }
}

/// The `tasks` commands.
struct TaskCommands<'a> {
    list: &'a dyn TaskList,
    clock: &'a dyn Clock,
    habits: Habits,
}

/// The `cal` commands.
struct CalendarCommands<'a> {
    calendar: &'a dyn Calendar,
    clock: &'a dyn Clock,
    habits: Habits,
}

/// The `mail` commands.
struct MailCommands<'a> {
    mailbox: &'a dyn Mailbox,
    clock: &'a dyn Clock,
}

fn to_command_error(trouble: AccountError) -> CommandError {
    match trouble {
        AccountError::InvalidRequest(what) => CommandError::Usage(what),
        AccountError::NotFound(what)
        | AccountError::NotConnected(what)
        | AccountError::Unavailable(what)
        | AccountError::Unreadable(what) => CommandError::Failed(what),
    }
}

/// Returns `text` with all whitespace collapsed to single spaces.
fn single_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
