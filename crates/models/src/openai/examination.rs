//! What can be known of a server without a conversation: whether it is there, takes our key, and has the model.
//!
//! What it lists is believed. A name that is not on the list proves nothing, because many servers answer to names that
//! they do not list, and neither does a page that is not found: any web server has that. Then one word is asked for.

use domain::failure::Failure;
use reqwest::Response;
use serde::Deserialize;
use serde_json::json;

use super::OpenAi;
use super::request::Room;
use super::stream::Completion;
use crate::assembly::garbled;
use crate::door;
use crate::line::{Kind, kind};

/// The most models that are named to somebody who asked for another one.
const NAMED: usize = 3;

/// The models that a server has.
#[derive(Debug, Default, Deserialize)]
struct List {
    #[serde(default)]
    data: Vec<Listed>,
}

#[derive(Debug, Deserialize)]
struct Listed {
    id: String,
}

impl OpenAi {
    /// Whether the server is there, takes our key and has the model. If it lists the model, nothing is paid for.
    pub async fn examine(&self) -> Result<(), Failure> {
        self.examined().await.map_err(|why| self.line.presentable(why))
    }

    async fn examined(&self) -> Result<(), Failure> {
        let model = &self.settings.model;
        let request = self.signed(self.line.get(door::below(&self.base, "/models")))?;
        let response = self.line.send(request).await?;
        let list = match response.status().as_u16() {
            200..=299 => self.list(response).await,
            404 | 405 | 501 => List::default(),
            _ => return Err(self.refused(response, model).await),
        };
        // Ollama takes a name without its tag for the latest one.
        let is_it =
            |listed: &Listed| listed.id.strip_prefix(model).is_some_and(|tag| ["", ":latest"].contains(&tag));
        if list.data.iter().any(is_it) {
            return Ok(());
        }
        match self.ask_for_a_word(model).await {
            Err(Failure::Rejected(why)) if !list.data.is_empty() => {
                Err(Failure::Rejected(format!("it has {}, and no `{model}`: {why}", list.told())))
            }
            answered => answered,
        }
    }

    /// What a server lists, as far as that can be read.
    async fn list(&self, response: Response) -> List {
        let text = self.line.whole(response).await.unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    async fn ask_for_a_word(&self, model: &str) -> Result<(), Failure> {
        let (name, most) = match self.room(1) {
            Room::Tokens(most) => ("max_tokens", most),
            Room::CompletionTokens(most) => ("max_completion_tokens", most),
        };
        let hello = json!({ "role": "user", "content": "hello" });
        let body = json!({ "model": model, name: most, "messages": [hello] }).to_string().into_bytes();
        let request = self.signed(self.line.post(self.line.address().clone(), body.into()))?;
        let response = self.line.send(request).await?;
        if !response.status().is_success() {
            return Err(self.refused(response, model).await);
        }
        match kind(&response) {
            Kind::Events => Ok(()),
            Kind::Json => Completion::default().take_whole(&self.line.whole(response).await?).map(drop),
            Kind::Other => Err(garbled("it is not an answer to a conversation")),
        }
    }
}

impl List {
    fn told(&self) -> String {
        let named: Vec<&str> = self.data.iter().take(NAMED).map(|listed| listed.id.as_str()).collect();
        match self.data.len().saturating_sub(NAMED) {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }
}
