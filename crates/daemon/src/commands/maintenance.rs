//! Maintenance commands: export, import, update, restart, migration.

mod export;
mod import;
mod migrate;
mod progress_line;
mod sensitive_settings;
mod update;

use std::process::ExitCode;
use std::sync::Arc;

use journal::archive::Secrets;
use journal::disk::Disk;

use self::export::ExportArgs;
use crate::cli::{MaintenanceCommand, Output};
use crate::exit::CommandError;
use crate::settings::Settings;

pub async fn run(
    command: MaintenanceCommand,
    settings: &Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    match command {
        MaintenanceCommand::Export { file, with_secrets, replace } => {
            let secrets = if with_secrets { Secrets::Include } else { Secrets::Exclude };
            export::export(settings, &*disk, ExportArgs { file: &file, secrets, replace }, output)
        }
        MaintenanceCommand::Import { file, replace } => {
            import::import(settings, &*disk, &file, replace, output)
        }
        MaintenanceCommand::Update { check } => update::update(settings, disk, check, output).await,
        MaintenanceCommand::Restart => crate::chat::execute_if_running(settings, "/restart", output).await,
        MaintenanceCommand::SelfCheck => update::check_self(settings, disk, output).await,
        MaintenanceCommand::Migrate { check } => migrate::migrate(settings, (&*disk, check), output),
    }
}

/// Formats a number of bytes.
fn format_size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} KB", bytes.div_ceil(1_000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

fn file_count(count: u64) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}
