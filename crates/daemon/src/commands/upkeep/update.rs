//! `ollim-bot update` and `self-check`: updates the program, and checks that it can start.

use std::process::ExitCode;
use std::sync::Arc;

use journal::disk::Disk;
use serde_json::json;
use surfaces::client::{Client, Unanswered};

use super::super::answer;
use crate::chat;
use crate::cli::Output;
use crate::exit::Failed;
use crate::house::{Doors, House, SOCKET};
use crate::settings::Settings;
use crate::updating::{Checkout, News, Renewer, UNAVAILABLE, Wanted, program};

/// Updates the program, or only reports whether there is a newer version.
pub async fn update(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    check: bool,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let program = program(&settings.places.upgrade)?;
    let Some(checkout) = Checkout::find(&settings.places.upgrade, &program) else {
        return Err(Failed::NotDone(UNAVAILABLE.to_owned()));
    };
    // A check does not need the daemon.
    if !check && let Some(code) = leave_to_who_runs(settings, output).await? {
        return Ok(code);
    }
    let renewer = Renewer { settings, disk: &disk, checkout, program };
    let failed = |trouble| Failed::NotDone(format!("{trouble}."));
    let Some(news) = renewer.look(Wanted::Asked).await.map_err(failed)? else {
        answer(output, &json!({ "ok": true, "commits": [] }), "already up to date.");
        return Ok(ExitCode::SUCCESS);
    };
    let value = json!({ "ok": true, "commits": news.commits });
    if check {
        answer(output, &value, &told("there is a newer version:", &news));
        return Ok(ExitCode::SUCCESS);
    }
    let applied = renewer.apply(news).await.map_err(failed)?;
    answer(output, &value, &told("updated. the next start is the new version:", &applied.news));
    Ok(ExitCode::SUCCESS)
}

/// Lets the running daemon update itself, if there is one. A hung daemon is an error: its program
/// must not be replaced.
async fn leave_to_who_runs(settings: &Settings, output: &Output) -> Result<Option<ExitCode>, Failed> {
    match Client::new(&settings.paths.state(), SOCKET).get("/api/health").await {
        Err(Unanswered::NotRunning) => Ok(None),
        Err(still @ Unanswered::Still(_)) => Err(still.into()),
        Ok(_) | Err(_) => chat::obey_if_running(settings, "/update", output).await.map(Some),
    }
}

fn told(head: &str, news: &News) -> String {
    format!("{head}{}", news.tell())
}

/// Opens everything as a start would, and reports whether that succeeded.
pub async fn check_self(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let house = House::open(settings, disk, Doors::Asked).await?;
    let health = house.client.get("/api/health").await;
    house.close().await;
    health?;
    output.voice.print("ready");
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::deaf::Deaf;

    /// An update fails at once if the daemon is hung.
    #[tokio::test(start_paused = true)]
    async fn an_update_does_not_wait_for_whoever_stands_still() {
        let deaf = Deaf::open();
        let failed = leave_to_who_runs(&deaf.settings, &Output::default()).await.unwrap_err();
        deaf.is_told_by(&failed);
    }
}
