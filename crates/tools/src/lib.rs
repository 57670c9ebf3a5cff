//! What the model can do: one file a tool, and the list of them.
//!
//! A tool reads the input the model wrote and either asks the assistant or touches the world. Whatever goes
//! wrong is told in words the model can act on.

mod inbox;
mod status;

use std::sync::Arc;

use domain::assistant::{Answer, Request};
use domain::tool::{Outcome, ToolCall, ToolResult, ToolSpec};
use engine::desk::Desk;
use engine::ports::Hands;
use futures_util::future::BoxFuture;

/// What a tool makes of its input: something to ask the assistant, or why not.
type Wanted = Result<Request, String>;

/// One tool.
struct Tool {
    spec: ToolSpec,
    read: fn(&str) -> Wanted,
}

/// All tools, in the order in which the model is told of them.
const TOOLS: [Tool; 3] = [inbox::ADD, inbox::LIST, status::STATUS];

/// The tools.
pub struct Toolbox {
    specs: Arc<[ToolSpec]>,
}

impl Toolbox {
    /// All of them.
    pub fn new() -> Self {
        Self { specs: TOOLS.iter().map(|tool| tool.spec.clone()).collect() }
    }
}

impl Default for Toolbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Hands for Toolbox {
    fn tools(&self) -> Arc<[ToolSpec]> {
        Arc::clone(&self.specs)
    }

    fn run<'a>(&'a self, call: &'a ToolCall, desk: &'a Desk) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let result = |text, outcome| ToolResult { call: call.id.clone(), text, outcome };
            let Some(tool) = TOOLS.iter().find(|tool| tool.spec.name == call.name) else {
                return result(format!("there is no tool called `{}`.", call.name), Outcome::Failed);
            };
            let request = match (tool.read)(&call.input.0) {
                Ok(request) => request,
                Err(reason) => return result(reason, Outcome::Failed),
            };
            match desk.ask(request).await {
                Answer::Told(text) => result(text, Outcome::Done),
                Answer::Refused(text) => result(text, Outcome::Failed),
                Answer::Heard(_)
                | Answer::Begun(_)
                | Answer::Decided(_)
                | Answer::Noted
                | Answer::Overspent(_) => result("done".to_owned(), Outcome::Done),
            }
        })
    }
}

/// Reads an input that must fit `T`, or says what is wrong with it.
fn parse<'a, T: serde::Deserialize<'a>>(tool: &Tool, input: &'a str) -> Result<T, String> {
    let wrong = |error| {
        format!("that input does not fit `{}`: {error}. it must match {}.", tool.spec.name, tool.spec.schema)
    };
    serde_json::from_str(input).map_err(wrong)
}
