//! Maintenance commands: export, import, update, restart, migration.

mod deciding;
mod export;
mod import;
mod migrate;
mod ticking;
mod update;

use std::process::ExitCode;
use std::sync::Arc;

use journal::disk::Disk;
use journal::moving::Secrets;

use self::export::Wanted;
use crate::cli::{Output, Upkeep};
use crate::exit::Failed;
use crate::settings::Settings;

pub async fn run(
    wanted: Upkeep,
    settings: &Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, Failed> {
    match wanted {
        Upkeep::Export { file, with_secrets, replace } => {
            let secrets = if with_secrets { Secrets::GoAlong } else { Secrets::Stay };
            export::export(settings, &*disk, Wanted { file: &file, secrets, replace }, output)
        }
        Upkeep::Import { file, replace } => import::import(settings, &*disk, &file, replace, output),
        Upkeep::Update { check } => update::update(settings, disk, check, output).await,
        Upkeep::Restart => crate::chat::obey_if_running(settings, "/restart", output).await,
        Upkeep::SelfCheck => update::check_self(settings, disk, output).await,
        Upkeep::Migrate { check } => migrate::migrate(settings, (&*disk, check), output),
    }
}

/// Formats a number of bytes.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} KB", bytes.div_ceil(1_000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

fn files(count: u64) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}
