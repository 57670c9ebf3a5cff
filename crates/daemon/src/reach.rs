//! Reaching the assistant: the one that runs, or one in this process for as long as it takes.

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

/// The assistant, within reach.
pub struct Reached {
    /// How to talk to it.
    pub client: Client,
    house: Option<House>,
}

impl Reached {
    /// Reaches it.
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

    /// Says `words` that plan, change or keep something.
    pub async fn capture(&self, words: &str) -> Result<Value, Failed> {
        Ok(self.client.post("/api/schedule/words", &json!({ "text": words })).await?)
    }

    /// Says `words` that only ask.
    pub async fn ask(&self, words: &str) -> Result<Value, Failed> {
        Ok(self.client.ask("/api/schedule/words", &json!({ "text": words })).await?)
    }

    /// Leaves it as it was.
    pub async fn leave(self) {
        if let Some(house) = self.house {
            house.close().await;
        }
    }
}

/// What whoever plans something is told, if nobody is there to ring then.
const NOBODY_RINGS: &str =
    "  i am not running, so nothing rings: ollim-bot run, or ollim-bot service install";

/// Tells whoever has planned something that nobody rings, if that is so.
pub async fn note_if_nobody_rings(settings: &Settings, output: &Output) {
    let client = Client::new(&settings.paths.state(), SOCKET);
    if let (false, Ok(false)) = (output.json, runs(&client).await) {
        output.voice.note(NOBODY_RINGS);
    }
}

/// Whether an assistant runs there. One that stands still is no reason to start another.
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

    /// Nobody waits for good for an assistant that stands still, nor is another one started beside it: whoever adds,
    /// says, orders or runs something is told, and ends.
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

    /// Who stands still may have taken what it was given; of what it was only asked nothing is to be looked after.
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
