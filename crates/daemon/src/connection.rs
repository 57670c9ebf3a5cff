//! Connects commands to the running daemon, or to an assistant that is opened in this process.

#[cfg(test)]
pub mod hung_daemon;

use std::sync::Arc;

use journal::disk::Disk;
use serde_json::{Value, json};
use surfaces::client::{Client, ClientError};

use crate::app::{Application, Mode, SOCKET};
use crate::cli::Output;
use crate::exit::CommandError;
use crate::printer::note;
use crate::settings::Settings;

/// A connection to the assistant.
pub struct Connection {
    pub client: Client,
    local: Option<Application>,
}

impl Connection {
    /// Connects to the daemon, or opens the assistant in this process.
    pub async fn new(settings: &Settings, disk: Arc<dyn Disk>) -> Result<Self, CommandError> {
        let client = Client::new(&settings.paths.state(), SOCKET);
        if is_running(&client).await? {
            return Ok(Self { client, local: None });
        }
        let house = Application::open(settings, disk, Mode::Passive).await?;
        for notice in &house.notices {
            note(notice);
        }
        Ok(Self { client: house.client.clone(), local: Some(house) })
    }

    /// Sends a sentence that changes something.
    pub async fn change(&self, words: &str) -> Result<Value, CommandError> {
        Ok(self.client.post("/api/schedule/words", &json!({ "text": words })).await?)
    }

    /// Sends a sentence that only asks for something.
    pub async fn ask(&self, words: &str) -> Result<Value, CommandError> {
        Ok(self.client.ask("/api/schedule/words", &json!({ "text": words })).await?)
    }

    /// Closes an assistant that was opened here.
    pub async fn close(self) {
        if let Some(house) = self.local {
            house.close().await;
        }
    }
}

/// The warning after planning something while the daemon is not running.
const NOT_RUNNING_WARNING: &str =
    "  i am not running, so nothing rings: ollim-bot run, or ollim-bot service install";

/// Warns that planned reminders need the daemon, if it is not running.
pub async fn warn_if_not_running(settings: &Settings, output: &Output) {
    let client = Client::new(&settings.paths.state(), SOCKET);
    if let (false, Ok(false)) = (output.json, is_running(&client).await) {
        output.voice.note(NOT_RUNNING_WARNING);
    }
}

/// Returns whether the daemon runs. A hung daemon is an error, so that no second one is started.
pub async fn is_running(client: &Client) -> Result<bool, ClientError> {
    match client.get("/api/health").await {
        Ok(_) => Ok(true),
        Err(still @ ClientError::NoAnswer(_)) => Err(still),
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use journal::disk::RealDisk;

    use super::*;
    use crate::chat::{execute_if_running, say_once, talk};
    use crate::commands::run_job;
    use hung_daemon::HungDaemon;

    /// Commands fail after a bounded wait if the daemon is hung, and start no second one.
    #[tokio::test(start_paused = true)]
    async fn commands_report_a_hung_daemon() {
        let deaf = HungDaemon::open();
        let output = Output::default();
        let settings = &deaf.settings;
        let disk = || Arc::new(RealDisk);
        let job = "routine:mail".parse().unwrap();
        let failed = [
            Connection::new(settings, disk()).await.map(drop).unwrap_err(),
            say_once(settings, disk(), "hello".into(), &output).await.unwrap_err(),
            talk(settings, disk(), &output, Vec::new()).await.unwrap_err(),
            execute_if_running(settings, "/update", &output).await.unwrap_err(),
            run_job::run(settings, disk(), &job, &output).await.unwrap_err(),
        ];
        failed.iter().for_each(|failed| deaf.assert_reported(failed));
    }

    /// The error about a hung daemon says that a change may have been applied, but not so for a
    /// query.
    #[tokio::test(start_paused = true)]
    async fn hung_daemon_error_distinguishes_queries_and_changes() {
        let deaf = HungDaemon::open();
        let client = Client::new(&deaf.settings.paths.state(), SOCKET);
        let reached = Connection { client, local: None };
        let asked = reached.ask("agenda for today").await.unwrap_err();
        deaf.assert_reported(&asked);
        assert!(!asked.to_string().contains("taken"), "{asked}");
        let given = reached.change("call tom tomorrow at 10").await.unwrap_err();
        assert!(given.to_string().contains("it may or may not have taken this"), "{given}");
    }
}
