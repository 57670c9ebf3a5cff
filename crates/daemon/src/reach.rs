//! Connects commands to the running daemon, or to an assistant that is opened in this process.

#[cfg(test)]
pub mod deaf;

use std::sync::Arc;

use journal::disk::Disk;
use serde_json::{Value, json};
use surfaces::client::{Client, Unanswered};

use crate::cli::Output;
use crate::exit::Failed;
use crate::house::{Doors, House, SOCKET};
use crate::settings::Settings;
use crate::voice::note;

/// A connection to the assistant.
pub struct Reached {
    pub client: Client,
    house: Option<House>,
}

impl Reached {
    /// Connects to the daemon, or opens the assistant in this process.
    pub async fn new(settings: &Settings, disk: Arc<dyn Disk>) -> Result<Self, Failed> {
        let client = Client::new(&settings.paths.state(), SOCKET);
        if runs(&client).await? {
            return Ok(Self { client, house: None });
        }
        let house = House::open(settings, disk, Doors::Asked).await?;
        for notice in &house.notices {
            note(notice);
        }
        Ok(Self { client: house.client.clone(), house: Some(house) })
    }

    /// Sends a sentence that changes something.
    pub async fn capture(&self, words: &str) -> Result<Value, Failed> {
        Ok(self.client.post("/api/schedule/words", &json!({ "text": words })).await?)
    }

    /// Sends a sentence that only asks for something.
    pub async fn ask(&self, words: &str) -> Result<Value, Failed> {
        Ok(self.client.ask("/api/schedule/words", &json!({ "text": words })).await?)
    }

    /// Closes an assistant that was opened here.
    pub async fn leave(self) {
        if let Some(house) = self.house {
            house.close().await;
        }
    }
}

/// The warning after planning something while the daemon is not running.
const NOBODY_RINGS: &str =
    "  i am not running, so nothing rings: ollim-bot run, or ollim-bot service install";

/// Warns that planned reminders need the daemon, if it is not running.
pub async fn note_if_nobody_rings(settings: &Settings, output: &Output) {
    let client = Client::new(&settings.paths.state(), SOCKET);
    if let (false, Ok(false)) = (output.json, runs(&client).await) {
        output.voice.note(NOBODY_RINGS);
    }
}

/// Returns whether the daemon runs. A hung daemon is an error, so that no second one is started.
pub async fn runs(client: &Client) -> Result<bool, Unanswered> {
    match client.get("/api/health").await {
        Ok(_) => Ok(true),
        Err(still @ Unanswered::Still(_)) => Err(still),
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use journal::disk::RealDisk;

    use super::*;
    use crate::chat::{obey_if_running, say_once, talk};
    use crate::commands::run_job;
    use deaf::Deaf;

    /// Commands fail after a bounded wait if the daemon is hung, and start no second one.
    #[tokio::test(start_paused = true)]
    async fn whoever_wants_something_of_one_that_stands_still_is_told() {
        let deaf = Deaf::open();
        let output = Output::default();
        let settings = &deaf.settings;
        let disk = || Arc::new(RealDisk);
        let job = "routine:mail".parse().unwrap();
        let failed = [
            Reached::new(settings, disk()).await.map(drop).unwrap_err(),
            say_once(settings, disk(), "hello".into(), &output).await.unwrap_err(),
            talk(settings, disk(), &output, Vec::new()).await.unwrap_err(),
            obey_if_running(settings, "/update", &output).await.unwrap_err(),
            run_job::run(settings, disk(), &job, &output).await.unwrap_err(),
        ];
        failed.iter().for_each(|failed| deaf.is_told_by(failed));
    }

    /// The error about a hung daemon says that a change may have been applied, but not so for a
    /// query.
    #[tokio::test(start_paused = true)]
    async fn a_question_was_taken_by_nobody() {
        let deaf = Deaf::open();
        let client = Client::new(&deaf.settings.paths.state(), SOCKET);
        let reached = Reached { client, house: None };
        let asked = reached.ask("agenda for today").await.unwrap_err();
        deaf.is_told_by(&asked);
        assert!(!asked.to_string().contains("taken"), "{asked}");
        let given = reached.capture("call tom tomorrow at 10").await.unwrap_err();
        assert!(given.to_string().contains("it may or may not have taken this"), "{given}");
    }
}
