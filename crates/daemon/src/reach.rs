//! Reaching the assistant: the one that runs, or one in this process for as long as it takes.

use std::sync::Arc;

use journal::disk::Disk;
use serde_json::{Value, json};
use surfaces::client::Client;

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
        if client.get("/api/health").await.is_ok() {
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
