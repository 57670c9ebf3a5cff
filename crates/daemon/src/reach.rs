//! Reaching the assistant: the one that runs, or one in this process for as long as it takes.

#[cfg(test)]
pub mod deaf;

use std::sync::Arc;

use journal::disk::Disk;
use serde_json::{Value, json};
use surfaces::client::{Client, Unanswered};

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

    /// Leaves it as it was.
    pub async fn leave(self) {
        if let Some(house) = self.house {
            house.close().await;
        }
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
    use crate::cli::Output;
    use crate::commands::run_job;
    use deaf::Deaf;

    /// Nobody waits for good for an assistant that stands still, nor is another one started beside it: whoever adds,
    /// says, orders or runs something is told, and ends.
    #[tokio::test(start_paused = true)]
    async fn whoever_wants_something_of_one_that_stands_still_is_told() {
        let (deaf, output) = (Deaf::open(), Output::default());
        let (settings, disk) = (&deaf.settings, || Arc::new(RealDisk));
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
}
