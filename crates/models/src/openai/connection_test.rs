//! Tests a server before a conversation: whether it is reachable, accepts our key, has the model,
//! and accepts the shape of our requests.
//!
//! The list of models is only used to suggest others if the model is refused: many servers accept
//! names that they do not list. One short request with a tool is sent, because a server that
//! refuses tools or reasoning does so only then.

use std::borrow::Cow;
use std::sync::Arc;

use domain::context::Context;
use domain::conversation::{Branch, EntryContent, UserInput};
use domain::effort::Effort;
use domain::failure::Failure;
use domain::thinking::Thinking;
use domain::tool::{ToolClass, ToolSpec};
use reqwest::Response;
use serde::Deserialize;

use super::OpenAi;
use crate::connection;

/// The output limit of the request. Reasoning models need some tokens, and the Responses API accepts no fewer.
const TEST_MAX_TOKENS: u32 = 16;

const TEST_TOOL: ToolSpec = ToolSpec {
    name: "note",
    description: Cow::Borrowed("Writes a note."),
    schema: r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#,
    class: ToolClass::Own,
};

/// The most models that an error message suggests.
const MAX_SUGGESTED: usize = 3;

/// The models that a server lists.
#[derive(Debug, Default, Deserialize)]
struct ModelList {
    #[serde(default)]
    data: Vec<ListedModel>,
}

#[derive(Debug, Deserialize)]
struct ListedModel {
    id: String,
}

impl OpenAi {
    /// Tests that the server is reachable, accepts our key, has the model and accepts the shape of
    /// our requests.
    pub async fn test_connection(&self) -> Result<(), Failure> {
        self.run_connection_test().await.map_err(|why| self.client.sanitize(why))
    }

    async fn run_connection_test(&self) -> Result<(), Failure> {
        let model = &self.settings.model;
        let request = self.with_key(self.client.get(connection::join_path(&self.base, "/models")))?;
        let response = self.client.send(request).await?;
        let list = match response.status().as_u16() {
            200..=299 => self.read_model_list(response).await,
            404 | 405 | 501 => ModelList::default(),
            _ => return Err(self.refusal_failure(response, model).await),
        };
        // Ollama completes a name without a tag to the latest one.
        let matches_model = |listed: &ListedModel| {
            listed.id.strip_prefix(model).is_some_and(|tag| ["", ":latest"].contains(&tag))
        };
        let is_listed = list.data.iter().any(matches_model);
        match self.request_reply_within(&test_context(), TEST_MAX_TOKENS, &|_: &str| {}).await {
            Ok(_) => Ok(()),
            Err(Failure::Rejected(why)) if !is_listed && !list.data.is_empty() => {
                Err(Failure::Rejected(format!("it has {}, and no `{model}`: {why}", list.summary())))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Reads the list of models; empty if it cannot be parsed.
    async fn read_model_list(&self, response: Response) -> ModelList {
        let text = self.client.read_body(response).await.unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}

/// A request in the shape of a conversation: instructions, one tool, one message.
fn test_context() -> Context {
    let hello = UserInput { preface: String::new(), text: "hello".to_owned(), images: Vec::new() };
    Context {
        branch: Branch::Main,
        model: None,
        thinking: Thinking::Off,
        effort: Effort::Low,
        interactive: false,
        tools: Arc::from([TEST_TOOL]),
        instructions: Arc::from("Answer in one word."),
        entries: vec![Arc::new(EntryContent::User(hello))],
        notes: Vec::new(),
        transient_count: 0,
    }
}

impl ModelList {
    fn summary(&self) -> String {
        let named: Vec<&str> =
            self.data.iter().take(MAX_SUGGESTED).map(|listed| listed.id.as_str()).collect();
        match self.data.len().saturating_sub(MAX_SUGGESTED) {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }
}
