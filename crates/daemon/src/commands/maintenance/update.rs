//! `ollim-bot update` and `self-check`: updates the program, and checks that it can start.

use std::process::ExitCode;
use std::sync::Arc;

use journal::disk::Disk;
use serde_json::json;
use surfaces::client::{Client, ClientError};

use super::super::print_result;
use crate::app::{Application, Mode, SOCKET};
use crate::chat;
use crate::cli::Output;
use crate::exit::CommandError;
use crate::settings::Settings;
use crate::update::{AvailableUpdate, Checkout, UNAVAILABLE, UpdateTrigger, Updater, program};

/// Updates the program, or only reports whether there is a newer version.
pub async fn update(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    check: bool,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let program = program(&settings.integrations.upgrade)?;
    let Some(checkout) = Checkout::find(&settings.integrations.upgrade, &program) else {
        return Err(CommandError::Failed(UNAVAILABLE.to_owned()));
    };
    // A check does not need the daemon.
    if !check && let Some(code) = update_through_daemon(settings, output).await? {
        return Ok(code);
    }
    let renewer = Updater { settings, disk: &disk, checkout, program };
    let failed = |trouble| CommandError::Failed(format!("{trouble}."));
    let Some(news) = renewer.find_update(UpdateTrigger::User).await.map_err(failed)? else {
        print_result(output, &json!({ "ok": true, "commits": [] }), "already up to date.");
        return Ok(ExitCode::SUCCESS);
    };
    let value = json!({ "ok": true, "commits": news.commits });
    if check {
        print_result(output, &value, &news_text("there is a newer version:", &news));
        return Ok(ExitCode::SUCCESS);
    }
    let applied = renewer.apply(news).await.map_err(failed)?;
    print_result(output, &value, &news_text("updated. the next start is the new version:", &applied.update));
    Ok(ExitCode::SUCCESS)
}

/// Lets the running daemon update itself, if there is one. A hung daemon is an error: its program
/// must not be replaced.
async fn update_through_daemon(
    settings: &Settings,
    output: &Output,
) -> Result<Option<ExitCode>, CommandError> {
    match Client::new(&settings.paths.state(), SOCKET).get("/api/health").await {
        Err(ClientError::NotRunning) => Ok(None),
        Err(still @ ClientError::NoAnswer(_)) => Err(still.into()),
        Ok(_) | Err(_) => chat::execute_if_running(settings, "/update", output).await.map(Some),
    }
}

fn news_text(head: &str, news: &AvailableUpdate) -> String {
    format!("{head}{}", news.summary())
}

/// Opens everything as a start would, and reports whether that succeeded.
pub async fn check_self(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let house = Application::open(settings, disk, Mode::Passive).await?;
    let health = house.client.get("/api/health").await;
    house.close().await;
    health?;
    output.voice.print("ready");
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::hung_daemon::HungDaemon;

    /// An update fails at once if the daemon is hung.
    #[tokio::test(start_paused = true)]
    async fn update_fails_at_once_if_the_daemon_is_hung() {
        let deaf = HungDaemon::open();
        let failed = update_through_daemon(&deaf.settings, &Output::default()).await.unwrap_err();
        deaf.assert_reported(&failed);
    }
}
