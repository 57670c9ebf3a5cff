//! Dispatch of the command line; one file for each command.

pub mod accounts;
pub mod auth;
pub mod completion;
mod config;
mod cost;
mod daily;
mod doctor;
pub mod help;
mod history;
pub mod jobs;
mod maintenance;
pub mod man;
mod mcp;
mod mcp_servers;
mod open;
pub mod run_job;
mod service;
mod sessions;
mod setup;
pub mod simulate;
mod skills;
mod status;
mod updates;
mod webhook;
mod why;

use std::process::ExitCode;
use std::sync::Arc;

use journal::Paths;
use journal::disk::Disk;

use crate::chat::{self, TerminalUse};
use crate::cli::{
    Cli, Command, ControlCommand, ExtensionCommand, InstallCommand, Output, QueryCommand, ReminderAction,
    ServersAction, ServiceAction, SessionsShape, SkillsAction, WebhookAction,
};
use crate::connection::warn_if_not_running;
use crate::exit::CommandError;
use crate::printer::Printer;
use crate::settings::{Environment, Settings};
use jobs::JobOutcome;
use status::StatusScope;

/// Runs the command. Commands that only show or repair something continue with invalid settings and
/// report the problem.
pub async fn run(
    cli: Cli,
    paths: Paths,
    read: Result<Settings, CommandError>,
    disk: Arc<dyn Disk>,
    mut repairs: Vec<String>,
) -> Result<ExitCode, CommandError> {
    let output = &cli.output;
    let environment = cli.place.environment();
    let editor = match output.voice {
        Printer::Terminal => environment.editor(),
        // A caller without a terminal cannot use an editor.
        Printer::Capture(_) => None,
    };
    let settings = match (read, &cli.command) {
        (Ok(settings), _) => settings,
        (Err(wrong), Some(Command::Look(QueryCommand::Status { .. }))) => {
            return status::show(&paths, Err(&wrong), StatusScope::DaemonOnly, output).await;
        }
        (Err(wrong), Some(Command::Look(QueryCommand::Doctor(care)))) => {
            return doctor::run(&environment, &paths, Err(&wrong), *care, repairs, output).await;
        }
        (
            Err(wrong),
            Some(Command::Kit(ExtensionCommand::Installing(InstallCommand::Service { action }))),
        ) => {
            let action = action.clone().unwrap_or(ServiceAction::Status);
            return service::run(&environment, &paths, Err(wrong), action, output).await;
        }
        (Err(wrong), Some(Command::Kit(ExtensionCommand::Installing(InstallCommand::Setup(_))))) => {
            setup::read_leniently(&environment, &wrong, output)?
        }
        (Err(wrong), command) => {
            let (settings, notice) = Settings::without_file(&environment, wrong)?;
            match command {
                // The notice is shown on the surfaces.
                None | Some(Command::Run { .. } | Command::Chat { once: false, .. } | Command::Tui) => {
                    repairs.push(notice);
                }
                Some(_) => output.voice.note(&notice),
            }
            settings
        }
    };
    match cli.command {
        None | Some(Command::Run { no_chat: false }) => {
            chat::run(&settings, disk, TerminalUse::IfTerminal, repairs).await
        }
        Some(Command::Run { no_chat: true }) => chat::run(&settings, disk, TerminalUse::Never, repairs).await,
        Some(Command::Chat { once: false, .. }) => chat::talk(&settings, disk, output, repairs).await,
        Some(Command::Chat { once: true, text, image }) => {
            chat::say_once(&settings, disk, chat::read_message(&text, &image)?, output).await
        }
        Some(Command::Tui) => chat::full_screen(&settings, disk, repairs).await,
        Some(Command::Open) => open::open(&settings, output).await,
        Some(Command::Routine { action }) => {
            let desk = jobs::JobCommands::new(&settings, Arc::clone(&disk), output, editor);
            match desk.run_routine_command(action).await? {
                JobOutcome::Done(code) => Ok(code),
                JobOutcome::Run(job) => run_job::run(&settings, disk, &job, output).await,
            }
        }
        Some(Command::Reminder { action }) => {
            let desk = jobs::JobCommands::new(&settings, Arc::clone(&disk), output, editor);
            match run_reminder_command(&desk, action, &settings, output).await? {
                JobOutcome::Done(code) => Ok(code),
                JobOutcome::Run(job) => run_job::run(&settings, disk, &job, output).await,
            }
        }
        Some(Command::Verb(verb)) => daily::run(verb, &settings, disk, output).await,
        Some(Command::Account(wanted)) => accounts::run(wanted, &settings, disk, output).await,
        Some(Command::Look(wanted)) => {
            run_query(wanted, &environment, &settings, repairs, disk, output).await
        }
        Some(Command::Order(wanted)) => run_control_command(wanted, &settings, disk, output).await,
        Some(Command::Inner(inner)) => crate::run_internal(&inner),
        Some(Command::Kit(wanted)) => {
            run_extension_command(wanted, environment, settings, disk, output).await
        }
    }
}

/// Runs a `reminder` command. Adding one warns if the daemon is not running.
async fn run_reminder_command(
    desk: &jobs::JobCommands<'_>,
    action: Option<ReminderAction>,
    settings: &Settings,
    output: &Output,
) -> Result<JobOutcome, CommandError> {
    let plans = matches!(action, Some(ReminderAction::Add(_)));
    let wanted = desk.run_reminder_command(action).await?;
    if plans {
        warn_if_not_running(settings, output).await;
    }
    Ok(wanted)
}

async fn run_extension_command(
    command: ExtensionCommand,
    environment: Environment,
    settings: Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    match command {
        ExtensionCommand::McpServers { action } => {
            mcp_servers::run(&settings, disk, &action.unwrap_or(ServersAction::List), output).await
        }
        ExtensionCommand::Mcp => mcp::serve(&settings, disk).await,
        ExtensionCommand::Skills { action } => {
            skills::run(&settings, disk, &action.unwrap_or(SkillsAction::List), output)
        }
        ExtensionCommand::Webhook { action } => {
            webhook::run(&settings, disk, action.unwrap_or(WebhookAction::List), output).await
        }
        ExtensionCommand::Installing(command) => {
            run_install_command(command, environment, settings, disk, output).await
        }
    }
}

async fn run_query(
    query: QueryCommand,
    environment: &Environment,
    settings: &Settings,
    repairs: Vec<String>,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    match query {
        QueryCommand::Sessions { shape, limit } => {
            sessions::show(settings, shape.unwrap_or(SessionsShape::List), limit, output)
        }
        QueryCommand::History { action } => history::show(settings, &action, output),
        QueryCommand::Completion { shell } => completion::print(shell),
        QueryCommand::Help { words } => help::show(&words, output),
        QueryCommand::Cost { forecast: true, .. } => cost::show_forecast(settings, disk, output),
        QueryCommand::Cost { days, by, .. } => cost::show(settings, disk, days, by, output),
        QueryCommand::Updates { all } => updates::show(settings, disk, all, output),
        QueryCommand::Simulate(query) => simulate::show(settings, &query, output).await,
        QueryCommand::Why { id } => why::show(settings, &id, output),
        QueryCommand::Status { deep } => {
            let depth = if deep { StatusScope::RemoteServices } else { StatusScope::DaemonOnly };
            status::show(&settings.paths, Ok(settings), depth, output).await
        }
        QueryCommand::Doctor(care) => {
            doctor::run(environment, &settings.paths, Ok(settings), care, repairs, output).await
        }
    }
}

async fn run_install_command(
    command: InstallCommand,
    environment: Environment,
    settings: Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    match command {
        InstallCommand::Setup(command) => setup::run(command, environment, settings, disk, output).await,
        InstallCommand::Service { action } => {
            let action = action.unwrap_or(ServiceAction::Status);
            service::run(&environment, &settings.paths, Ok(&settings), action, output).await
        }
        InstallCommand::Auth { words } => auth::run(&words, &environment.with_stored()?),
        InstallCommand::Man { out } => man::show(out.as_deref(), output),
    }
}

async fn run_control_command(
    request: ControlCommand,
    settings: &Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let command = match request {
        ControlCommand::Upkeep(request) => return maintenance::run(request, settings, disk, output).await,
        ControlCommand::Retry => return chat::execute_if_running(settings, "/retry", output).await,
        ControlCommand::Config { setting, value } if value.is_empty() => {
            return config::show(settings, disk, setting.as_deref(), output);
        }
        ControlCommand::Config { setting, value } => {
            format!("/config {} {}", setting.unwrap_or_default(), value.join(" "))
        }
        ControlCommand::Compact { undo: true, .. } => "/undo".to_owned(),
        ControlCommand::Compact { instructions, undo: false } => {
            format!("/compact {}", instructions.join(" "))
        }
        ControlCommand::Model { name } => format!("/model {}", name.unwrap_or_default()),
    };
    chat::say_once(settings, disk, command.as_str().into(), output).await
}

/// Prints `value` as JSON, or `text` for the terminal.
fn print_result(output: &Output, value: &serde_json::Value, text: &str) {
    if output.json { output.voice.print(&value.to_string()) } else { output.voice.print(text.trim_end()) }
}

/// The chat commands that exist on the command line under the same name and that are mentioned in
/// answers.
const SHARED_COMMANDS: [&str; 5] = ["config", "focus", "quiet", "why", "lighter"];

/// Replaces chat commands quoted in `text` by their command-line form, without dollar signs, which
/// a shell would expand.
pub fn with_shell_commands(text: &str) -> String {
    let command = |part: &str| {
        let line = part.strip_prefix('/')?;
        let name = line.split_whitespace().next()?;
        SHARED_COMMANDS.contains(&name).then(|| format!("ollim-bot {}", line.replace('$', "")))
    };
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(nth, part)| match nth % 2 {
        1 => command(part).unwrap_or_else(|| part.to_owned()),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}
