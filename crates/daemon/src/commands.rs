//! Dispatch of the command line; one file for each command.

pub mod accounts;
pub mod auth;
pub mod completion;
mod config;
mod cost;
mod doctor;
pub mod help;
mod history;
pub mod jobs;
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
mod upkeep;
mod verbs;
mod webhook;
mod why;

use std::process::ExitCode;
use std::sync::Arc;

use journal::Paths;
use journal::disk::Disk;

use crate::chat::{self, Attached};
use crate::cli::{
    Cli, Command, Installing, Kit, Look, Order, Output, ReminderAction, ServersAction, ServiceAction,
    SessionsShape, SkillsAction, WebhookAction,
};
use crate::exit::Failed;
use crate::reach::note_if_nobody_rings;
use crate::settings::{Environment, Settings};
use crate::voice::Voice;
use jobs::Wanted;
use status::Depth;

/// Runs the command. Commands that only show or repair something continue with invalid settings and
/// report the problem.
pub async fn run(
    cli: Cli,
    paths: Paths,
    read: Result<Settings, Failed>,
    disk: Arc<dyn Disk>,
    mut mended: Vec<String>,
) -> Result<ExitCode, Failed> {
    let output = &cli.output;
    let environment = cli.place.environment();
    let editor = match output.voice {
        Voice::Terminal => environment.editor(),
        // A caller without a terminal cannot use an editor.
        Voice::Listener(_) => None,
    };
    let settings = match (read, &cli.command) {
        (Ok(settings), _) => settings,
        (Err(wrong), Some(Command::Look(Look::Status { .. }))) => {
            return status::show(&paths, Err(&wrong), Depth::Here, output).await;
        }
        (Err(wrong), Some(Command::Look(Look::Doctor(care)))) => {
            return doctor::examine(&environment, &paths, Err(&wrong), *care, mended, output).await;
        }
        (Err(wrong), Some(Command::Kit(Kit::Installing(Installing::Service { action })))) => {
            let action = action.clone().unwrap_or(ServiceAction::Status);
            return service::run(&environment, &paths, Err(wrong), action, output).await;
        }
        (Err(wrong), Some(Command::Kit(Kit::Installing(Installing::Setup(_))))) => {
            setup::read_on(&environment, &wrong, output)?
        }
        (Err(wrong), command) => {
            let (settings, notice) = Settings::without_file(&environment, wrong)?;
            match command {
                // The notice is shown on the surfaces.
                None | Some(Command::Run { .. } | Command::Chat { once: false, .. } | Command::Tui) => {
                    mended.push(notice);
                }
                Some(_) => output.voice.note(&notice),
            }
            settings
        }
    };
    match cli.command {
        None | Some(Command::Run { no_chat: false }) => {
            chat::run(&settings, disk, Attached::IfTerminal, mended).await
        }
        Some(Command::Run { no_chat: true }) => chat::run(&settings, disk, Attached::Never, mended).await,
        Some(Command::Chat { once: false, .. }) => chat::talk(&settings, disk, output, mended).await,
        Some(Command::Chat { once: true, text, image }) => {
            chat::say_once(&settings, disk, chat::words(&text, &image)?, output).await
        }
        Some(Command::Tui) => chat::full_screen(&settings, disk, mended).await,
        Some(Command::Open) => open::open(&settings, output).await,
        Some(Command::Routine { action }) => {
            let desk = jobs::Desk::new(&settings, Arc::clone(&disk), output, editor);
            match desk.routine(action).await? {
                Wanted::Done(code) => Ok(code),
                Wanted::Run(job) => run_job::run(&settings, disk, &job, output).await,
            }
        }
        Some(Command::Reminder { action }) => {
            let desk = jobs::Desk::new(&settings, Arc::clone(&disk), output, editor);
            match remind(&desk, action, &settings, output).await? {
                Wanted::Done(code) => Ok(code),
                Wanted::Run(job) => run_job::run(&settings, disk, &job, output).await,
            }
        }
        Some(Command::Verb(verb)) => verbs::run(verb, &settings, disk, output).await,
        Some(Command::Account(wanted)) => accounts::run(wanted, &settings, disk, output).await,
        Some(Command::Look(wanted)) => look(wanted, &environment, &settings, mended, disk, output).await,
        Some(Command::Order(wanted)) => order(wanted, &settings, disk, output).await,
        Some(Command::Inner(inner)) => crate::inner(&inner),
        Some(Command::Kit(wanted)) => kit(wanted, environment, settings, disk, output).await,
    }
}

/// Runs a `reminder` command. Adding one warns if the daemon is not running.
async fn remind(
    desk: &jobs::Desk<'_>,
    action: Option<ReminderAction>,
    settings: &Settings,
    output: &Output,
) -> Result<Wanted, Failed> {
    let plans = matches!(action, Some(ReminderAction::Add(_)));
    let wanted = desk.reminder(action).await?;
    if plans {
        note_if_nobody_rings(settings, output).await;
    }
    Ok(wanted)
}

async fn kit(
    wanted: Kit,
    environment: Environment,
    settings: Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, Failed> {
    match wanted {
        Kit::McpServers { action } => {
            mcp_servers::run(&settings, disk, &action.unwrap_or(ServersAction::List), output).await
        }
        Kit::Mcp => mcp::serve(&settings, disk).await,
        Kit::Skills { action } => skills::run(&settings, disk, &action.unwrap_or(SkillsAction::List), output),
        Kit::Webhook { action } => {
            webhook::run(&settings, disk, action.unwrap_or(WebhookAction::List), output).await
        }
        Kit::Installing(wanted) => installing(wanted, environment, settings, disk, output).await,
    }
}

async fn look(
    wanted: Look,
    environment: &Environment,
    settings: &Settings,
    mended: Vec<String>,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, Failed> {
    match wanted {
        Look::Sessions { shape, limit } => {
            sessions::show(settings, shape.unwrap_or(SessionsShape::List), limit, output)
        }
        Look::History { action } => history::show(settings, &action, output),
        Look::Completion { shell } => completion::print(shell),
        Look::Help { words } => help::show(&words, output),
        Look::Cost { forecast: true, .. } => cost::foresee(settings, disk, output),
        Look::Cost { days, by, .. } => cost::show(settings, disk, days, by, output),
        Look::Updates { all } => updates::show(settings, disk, all, output),
        Look::Simulate(wanted) => simulate::show(settings, &wanted, output).await,
        Look::Why { id } => why::show(settings, &id, output),
        Look::Status { deep } => {
            let depth = if deep { Depth::Elsewhere } else { Depth::Here };
            status::show(&settings.paths, Ok(settings), depth, output).await
        }
        Look::Doctor(care) => {
            doctor::examine(environment, &settings.paths, Ok(settings), care, mended, output).await
        }
    }
}

async fn installing(
    wanted: Installing,
    environment: Environment,
    settings: Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, Failed> {
    match wanted {
        Installing::Setup(wanted) => setup::run(wanted, environment, settings, disk, output).await,
        Installing::Service { action } => {
            let action = action.unwrap_or(ServiceAction::Status);
            service::run(&environment, &settings.paths, Ok(&settings), action, output).await
        }
        Installing::Auth { words } => auth::run(&words, &environment.completed()?),
        Installing::Man { out } => man::show(out.as_deref(), output),
    }
}

async fn order(
    wanted: Order,
    settings: &Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let command = match wanted {
        Order::Upkeep(wanted) => return upkeep::run(wanted, settings, disk, output).await,
        Order::Retry => return chat::obey_if_running(settings, "/retry", output).await,
        Order::Config { setting, value } if value.is_empty() => {
            return config::show(settings, disk, setting.as_deref(), output);
        }
        Order::Config { setting, value } => {
            format!("/config {} {}", setting.unwrap_or_default(), value.join(" "))
        }
        Order::Compact { undo: true, .. } => "/undo".to_owned(),
        Order::Compact { instructions, undo: false } => format!("/compact {}", instructions.join(" ")),
        Order::Model { name } => format!("/model {}", name.unwrap_or_default()),
    };
    chat::say_once(settings, disk, command.as_str().into(), output).await
}

/// Prints `value` as JSON, or `text` for the terminal.
fn answer(output: &Output, value: &serde_json::Value, text: &str) {
    if output.json { output.voice.print(&value.to_string()) } else { output.voice.print(text.trim_end()) }
}

/// The chat commands that exist on the command line under the same name and that are mentioned in
/// answers.
const SHARED: [&str; 5] = ["config", "focus", "quiet", "why", "lighter"];

/// Replaces chat commands quoted in `text` by their command-line form, without dollar signs, which
/// a shell would expand.
pub fn in_the_shell(text: &str) -> String {
    let command = |part: &str| {
        let line = part.strip_prefix('/')?;
        let name = line.split_whitespace().next()?;
        SHARED.contains(&name).then(|| format!("ollim-bot {}", line.replace('$', "")))
    };
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(nth, part)| match nth % 2 {
        1 => command(part).unwrap_or_else(|| part.to_owned()),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}
