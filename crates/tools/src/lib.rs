//! The tools of the model: one file per tool or per group of related tools, and their list.
//!
//! A tool parses the input that the model wrote, and either sends a request to the assistant or
//! runs by itself with its [`ToolEnv`]. The input is first checked against the tool's own schema.
//! Errors begin with `Error` and say what the model can do.

#[cfg(target_os = "linux")]
pub mod cage;
mod chain;
mod embed;
pub mod files;
mod fork;
mod inbox;
pub mod mcp;
mod ping;
mod plain;
mod routine;
mod schedule;
mod schema;
pub mod shell;
pub mod skill;
mod status;
mod task;
pub mod web;
mod workshop;

use std::sync::Arc;

use domain::assistant::{Answer, Request};
use domain::context::skills::{Loaded, NamedSkills};
use domain::label::{Label, Realms};
use domain::permission::{deed, own_command};
use domain::tool::{Caption, Class, Outcome, ServerKinds, Showing, ToolCall, ToolResult, ToolSpec};
use domain::turn::TurnId;
use engine::desk::Desk;
use engine::ports::Hands;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use workshop::{Part, Workshop};

/// The request for the assistant that a tool parsed from its input, or why the input is wrong.
type Wanted = Result<Request, String>;

/// The result text of a tool that runs by itself, or why it failed.
type Done<'a> = BoxFuture<'a, Result<String, String>>;

/// Text for the model with a label that is known only after the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelled {
    pub text: String,
    pub label: Label,
}

/// Like [`ToolFuture`], with a label for the text.
type DoneLabelled<'a> = BoxFuture<'a, Result<Labelled, String>>;

struct Tool {
    spec: ToolSpec,
    work: Work,
}

/// The implementation of a tool. Its input fits the schema.
#[derive(Clone, Copy)]
enum Work {
    /// Sends a request to the assistant on behalf of the calling turn.
    Asks(fn(TurnId, Value) -> Wanted),
    /// Runs by itself.
    Does(fn(&Workshop, Value) -> Done<'_>),
    /// Runs by itself, knows the caller, and labels its text.
    DoesFor(for<'a> fn(&'a Workshop, Value, Caller<'a>) -> DoneLabelled<'a>),
}

/// The calling turn, and the handle of the assistant.
#[derive(Clone, Copy)]
struct Caller<'a> {
    turn: TurnId,
    desk: &'a Desk,
}

/// All tools, in the order in which the model sees them.
const TOOLS: [Tool; 24] = [
    inbox::ADD,
    inbox::LIST,
    inbox::REMOVE,
    schedule::SCHEDULE,
    status::STATUS,
    embed::EMBED,
    ping::PING,
    chain::FOLLOW_UP,
    fork::ENTER,
    fork::REPORT,
    fork::SAVE,
    fork::EXIT,
    routine::COMPACT,
    files::READ,
    files::WRITE,
    files::EDIT,
    files::GLOB,
    files::GREP,
    shell::BASH,
    web::FETCH,
    web::SEARCH,
    skill::SKILL,
    task::TASK,
    mcp::MCP,
];

/// The schema of an object without required properties.
const NOTHING: &str = r#"{"type":"object","properties":{}}"#;

/// All tools. Without a [`ToolEnv`] the tools that run by themselves report that they are off.
#[derive(Default)]
pub struct Toolbox {
    workshop: Workshop,
}

impl Toolbox {
    /// Creates the tools with `env`.
    pub fn new(workshop: Workshop) -> Self {
        Self { workshop }
    }
}

impl Toolbox {
    /// Returns the label of the result of `call`. Error texts are our own, except those of MCP
    /// servers and the output of a command that was ended.
    fn label(&self, call: &ToolCall, outcome: &Outcome) -> Label {
        let class = TOOLS.iter().find(|tool| tool.spec.name == call.name).map(|tool| tool.spec.class);
        let Some(class) = class else { return Label::PLAIN };
        let command = call.input.text("command").filter(|_| class == Class::Shell);
        let words = command.and_then(|command| own_command::words(&command));
        let quotes = class == Class::Foreign || (class == Class::Shell && words.is_none());
        let known = match (words, &self.workshop.own) {
            (Some(words), Part::On(own)) => own.label(&words),
            (Some(_), Part::Off(_)) | (None, _) => deed(call, class).reads,
        };
        if *outcome == Outcome::Failed && !quotes { Label { outside: Realms::NONE, ..known } } else { known }
    }
}

impl Hands for Toolbox {
    fn tools(&self) -> Arc<[ToolSpec]> {
        TOOLS.iter().map(|tool| tool.spec.clone()).collect()
    }

    fn caption(&self, call: &ToolCall) -> String {
        let input: Value = serde_json::from_str(&call.input.0).unwrap_or_default();
        Caption::of(&call.name, |key| input[key].as_str().map(str::to_owned)).plain()
    }

    fn kinds<'a>(&'a self, calls: &'a [ToolCall]) -> BoxFuture<'a, ServerKinds> {
        Box::pin(async move {
            let Part::On(servers) = &self.workshop.servers else { return ServerKinds::new() };
            let called = calls.iter().filter(|call| call.name == mcp::MCP.spec.name);
            let mut kinds = ServerKinds::new();
            for tool in called.filter_map(|call| call.input.text("tool")) {
                if !kinds.contains_key(&tool)
                    && let Some(kind) = servers.kind(&tool).await
                {
                    kinds.insert(tool, kind);
                }
            }
            kinds
        })
    }

    fn skills<'a>(&'a self, wanted: &'a NamedSkills) -> BoxFuture<'a, Loaded> {
        match &self.workshop.skills {
            Part::On(skills) => skills.for_job(wanted),
            Part::Off(_) => Box::pin(std::future::ready(Loaded::default())),
        }
    }

    fn run<'a>(&'a self, turn: TurnId, call: &'a ToolCall, desk: &'a Desk) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let mut known = Label::PLAIN;
            let (text, outcome) = match order(turn, call) {
                Ok(Order::Ask(request)) => outcome(desk.ask(request).await),
                Ok(Order::Do(work, input)) => match work(&self.workshop, input).await {
                    Ok(text) => (text, Outcome::Done),
                    Err(reason) => failed(reason),
                },
                Ok(Order::DoFor(work, input)) => {
                    match work(&self.workshop, input, Caller { turn, desk }).await {
                        Ok(told) => {
                            known = told.label;
                            (told.text, Outcome::Done)
                        }
                        Err(reason) => failed(reason),
                    }
                }
                Err(reason) => failed(reason),
            };
            let label = self.label(call, &outcome).join(known);
            ToolResult { call: call.id.clone(), text, outcome, label }
        })
    }
}

/// The action for a call.
enum Order {
    Ask(Request),
    Do(fn(&Workshop, Value) -> Done<'_>, Value),
    DoFor(for<'a> fn(&'a Workshop, Value, Caller<'a>) -> DoneLabelled<'a>, Value),
}

/// Returns the action for `call`, or what is wrong with the call.
fn order(turn: TurnId, call: &ToolCall) -> Result<Order, String> {
    let Some(tool) = TOOLS.iter().find(|tool| tool.spec.name == call.name) else {
        return Err(format!("there is no tool called `{}`.", call.name));
    };
    let input = schema::read(tool.spec.schema, &call.input.0);
    let order = input.and_then(|input| match tool.work {
        Work::Asks(read) => read(turn, input).map(Order::Ask),
        Work::Does(work) => Ok(Order::Do(work, input)),
        Work::DoesFor(work) => Ok(Order::DoFor(work, input)),
    });
    order.map_err(|wrong| format!("that input does not fit `{}`: {wrong}", tool.spec.name))
}

fn outcome(answer: Answer) -> (String, Outcome) {
    match answer {
        Answer::Told(text) => (text, Outcome::Done),
        Answer::Shown(showing @ Showing::Embed(_)) => ("Embed sent.".to_owned(), Outcome::Shown(showing)),
        Answer::Shown(showing @ Showing::Words(_)) => ("Message sent.".to_owned(), Outcome::Shown(showing)),
        Answer::Refused(text) => failed(text),
        Answer::Heard(_)
        | Answer::Begun(_)
        | Answer::Decided(_)
        | Answer::Noted
        | Answer::Results(_)
        | Answer::Plans(_)
        | Answer::Numbers(_)
        | Answer::Attention(_)
        | Answer::Overspent(_) => ("done".to_owned(), Outcome::Done),
    }
}

fn failed(reason: String) -> (String, Outcome) {
    let text = if reason.starts_with("Error") { reason } else { format!("Error: {reason}") };
    (text, Outcome::Failed)
}

/// Deserializes input that fits the schema, and reports what a schema cannot express.
fn parsed<T: DeserializeOwned>(input: Value) -> Result<T, String> {
    serde_json::from_value(input).map_err(|error| format!("{error}."))
}

/// Refuses blank text.
fn words(field: &str, text: String) -> Result<String, String> {
    if text.trim().is_empty() {
        Err(format!("`{field}` is blank. write what it should say."))
    } else {
        Ok(text)
    }
}

/// Parses a number of minutes, at least 1. `5.0` is accepted as 5.
fn minutes(field: &str, number: &serde_json::Number) -> Result<u32, String> {
    let whole = number.as_f64().filter(|number| number.fract() == 0.0).unwrap_or_default();
    if (1.0..=f64::from(u32::MAX)).contains(&whole) {
        Ok(whole as u32)
    } else {
        Err(format!("`{field}` must be a whole number of minutes, at least 1, and is {number}."))
    }
}

#[cfg(test)]
mod tests;
