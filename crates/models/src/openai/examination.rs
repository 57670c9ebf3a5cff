//! Tests a server before a conversation: whether it is reachable, accepts our key, has the model,
//! and accepts the shape of our requests.
//!
//! The list of models is only used to suggest others if the model is refused: many servers accept
//! names that they do not list. One short request with a tool is sent, because a server that
//! refuses tools or reasoning does so only then.

use std::borrow::Cow;
use std::sync::Arc;

use domain::context::Context;
use domain::conversation::{Branch, Heard, Said};
use domain::effort::Effort;
use domain::failure::Failure;
use domain::thinking::Thinking;
use domain::tool::{Class, ToolSpec};
use reqwest::Response;
use serde::Deserialize;

use super::OpenAi;
use crate::door;

/// The output limit of the request. Reasoning models need some tokens, and the Responses API accepts no fewer.
const SAMPLE_TOKENS: u32 = 16;

const SAMPLE_TOOL: ToolSpec = ToolSpec {
    name: "note",
    description: Cow::Borrowed("Writes a note."),
    schema: r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#,
    class: Class::Own,
};

/// The most models that an error message suggests.
const NAMED: usize = 3;

/// The models that a server lists.
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
    /// Tests that the server is reachable, accepts our key, has the model and accepts the shape of
    /// our requests.
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
        // Ollama completes a name without a tag to the latest one.
        let is_it =
            |listed: &Listed| listed.id.strip_prefix(model).is_some_and(|tag| ["", ":latest"].contains(&tag));
        let is_listed = list.data.iter().any(is_it);
        match self.ask_within(&sample(), SAMPLE_TOKENS, &|_: &str| {}).await {
            Ok(_) => Ok(()),
            Err(Failure::Rejected(why)) if !is_listed && !list.data.is_empty() => {
                Err(Failure::Rejected(format!("it has {}, and no `{model}`: {why}", list.told())))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Reads the list of models; empty if it cannot be parsed.
    async fn list(&self, response: Response) -> List {
        let text = self.line.whole(response).await.unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}

/// A request in the shape of a conversation: instructions, one tool, one message.
fn sample() -> Context {
    let hello = Heard { preface: String::new(), text: "hello".to_owned(), images: Vec::new() };
    Context {
        branch: Branch::Main,
        model: None,
        thinking: Thinking::Off,
        effort: Effort::Low,
        interactive: false,
        tools: Arc::from([SAMPLE_TOOL]),
        instructions: Arc::from("Answer in one word."),
        said: vec![Arc::new(Said::Human(hello))],
        notes: Vec::new(),
        aside: 0,
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
