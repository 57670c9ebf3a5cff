//! The commands: one file each.

pub mod completion;
mod cost;
mod doctor;
mod open;
mod sessions;
mod status;

use std::process::ExitCode;
use std::sync::Arc;

use journal::Paths;
use journal::disk::Disk;

use crate::chat::{self, Attached};
use crate::cli::{Cli, Command, Output, SessionsShape};
use crate::exit::Failed;
use crate::settings::Settings;
use crate::voice::print;

/// Does what was asked for. Who only looks goes on with settings that are wrong, and tells it.
pub async fn run(
    cli: Cli,
    (paths, read): (Paths, Result<Settings, Failed>),
    disk: Arc<dyn Disk>,
) -> Result<ExitCode, Failed> {
    let output = cli.output;
    let settings = match (read, &cli.command) {
        (Ok(settings), _) => settings,
        (Err(wrong), Some(Command::Status)) => return status::show(&paths, Some(&wrong), output).await,
        (Err(wrong), Some(Command::Doctor)) => return doctor::examine(&paths, Err(&wrong), output).await,
        (Err(wrong), _) => return Err(wrong),
    };
    match cli.command {
        None => chat::run(&settings, disk, Attached::IfTerminal).await,
        Some(Command::Run { no_chat: false }) => chat::run(&settings, disk, Attached::IfTerminal).await,
        Some(Command::Run { no_chat: true }) => chat::run(&settings, disk, Attached::Never).await,
        Some(Command::Chat { once: false, .. }) => chat::talk(&settings, disk, output).await,
        Some(Command::Chat { once: true, text, image }) => {
            chat::say_once(&settings, disk, chat::words(&text, &image)?, output).await
        }
        Some(Command::Open) => open::open(&settings, output).await,
        Some(Command::Sessions { shape, limit }) => {
            sessions::show(&settings, shape.unwrap_or(SessionsShape::List), limit, output)
        }
        Some(Command::Cost { days, by }) => cost::show(&settings, days, by, output),
        Some(Command::Compact { instructions, undo }) => {
            let command =
                if undo { "/undo".to_owned() } else { format!("/compact {}", instructions.join(" ")) };
            chat::say_once(&settings, disk, command.as_str().into(), output).await
        }
        Some(Command::Model { name }) => {
            let command = format!("/model {}", name.unwrap_or_default());
            chat::say_once(&settings, disk, command.as_str().into(), output).await
        }
        Some(Command::Retry) => chat::obey_if_running(&settings, "/retry", output).await,
        Some(Command::Status) => status::show(&paths, None, output).await,
        Some(Command::Doctor) => doctor::examine(&paths, Ok(&settings), output).await,
        Some(Command::Completion { shell }) => completion::print(shell),
        Some(Command::Leash { parent, line }) => {
            crate::leash::become_leashed(parent, &line).map(|never| match never {})
        }
    }
}

/// Prints `value` as JSON, or `text` for people.
fn answer(output: Output, value: &serde_json::Value, text: &str) {
    match output.json {
        true => print(&value.to_string()),
        false => print(text.trim_end()),
    }
}
