//! The tools of the model: one file per tool or per group of related tools, and their list.
//!
//! A tool parses the input that the model wrote, and either sends a request to the assistant or
//! runs by itself with its [`ToolEnv`]. The input is first checked against the tool's own schema.
//! Errors begin with `Error` and say what the model can do.

mod chain;
mod embed;
pub mod files;
mod fork;
mod inbox;
pub mod mcp;
mod persistent_session;
mod ping;
mod plain_text;
#[cfg(target_os = "linux")]
pub mod sandbox;
mod schedule;
mod schema;
pub mod shell;
pub mod skill;
mod status;
mod task;
mod tool_env;
pub mod web;

use std::sync::Arc;

use domain::assistant::{Answer, Request};
use domain::context::skills::{LoadedSkills, NamedSkills};
use domain::label::{Label, Realms};
use domain::permission::{own_command, tool_action};
use domain::tool::{
    Caption, Outcome, ServerToolKinds, ShownContent, ToolCall, ToolClass, ToolResult, ToolSpec,
};
use domain::turn::TurnId;
use engine::handle::AssistantHandle;
use engine::ports::ToolRunner;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use tool_env::{Availability, ToolEnv};

/// The request for the assistant that a tool parsed from its input, or why the input is wrong.
type ParsedRequest = Result<Request, String>;

/// The result text of a tool that runs by itself, or why it failed.
type ToolFuture<'a> = BoxFuture<'a, Result<String, String>>;

/// Text for the model with a label that is known only after the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledText {
    pub text: String,
    pub label: Label,
}

/// Like [`ToolFuture`], with a label for the text.
type LabelledToolFuture<'a> = BoxFuture<'a, Result<LabelledText, String>>;

struct Tool {
    spec: ToolSpec,
    handler: ToolHandler,
}

/// The implementation of a tool. Its input fits the schema.
#[derive(Clone, Copy)]
enum ToolHandler {
    /// Sends a request to the assistant on behalf of the calling turn.
    Request(fn(TurnId, Value) -> ParsedRequest),
    /// Runs by itself.
    Run(fn(&ToolEnv, Value) -> ToolFuture<'_>),
    /// Runs by itself, knows the caller, and labels its text.
    RunForCaller(for<'a> fn(&'a ToolEnv, Value, Caller<'a>) -> LabelledToolFuture<'a>),
}

/// The calling turn, and the handle of the assistant.
#[derive(Clone, Copy)]
struct Caller<'a> {
    turn: TurnId,
    assistant: &'a AssistantHandle,
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
    persistent_session::COMPACT,
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
const EMPTY_OBJECT_SCHEMA: &str = r#"{"type":"object","properties":{}}"#;

/// All tools. Without a [`ToolEnv`] the tools that run by themselves report that they are off.
#[derive(Default)]
pub struct Toolbox {
    env: ToolEnv,
}

impl Toolbox {
    /// Creates the tools with `env`.
    pub fn new(env: ToolEnv) -> Self {
        Self { env }
    }
}

impl Toolbox {
    /// Returns the label of the result of `call`. Error texts are our own, except those of MCP
    /// servers and the output of a command that was ended.
    fn label(&self, call: &ToolCall, outcome: &Outcome) -> Label {
        let class = TOOLS.iter().find(|tool| tool.spec.name == call.name).map(|tool| tool.spec.class);
        let Some(class) = class else { return Label::PLAIN };
        let command = call.input.text("command").filter(|_| class == ToolClass::Shell);
        let words = command.and_then(|command| own_command::parse(&command));
        let quotes = class == ToolClass::Foreign || (class == ToolClass::Shell && words.is_none());
        let label = match (words, &self.env.own_commands) {
            (Some(words), Availability::Available(own)) => own.label(&words),
            (Some(_), Availability::Unavailable(_)) | (None, _) => tool_action(call, class).read_label,
        };
        if *outcome == Outcome::Failed && !quotes { Label { outside: Realms::NONE, ..label } } else { label }
    }
}

impl ToolRunner for Toolbox {
    fn tools(&self) -> Arc<[ToolSpec]> {
        TOOLS.iter().map(|tool| tool.spec.clone()).collect()
    }

    fn caption(&self, call: &ToolCall) -> String {
        let input: Value = serde_json::from_str(&call.input.0).unwrap_or_default();
        Caption::new(&call.name, |key| input[key].as_str().map(str::to_owned)).plain()
    }

    fn server_tool_kinds<'a>(&'a self, calls: &'a [ToolCall]) -> BoxFuture<'a, ServerToolKinds> {
        Box::pin(async move {
            let Availability::Available(servers) = &self.env.mcp_servers else {
                return ServerToolKinds::new();
            };
            let called = calls.iter().filter(|call| call.name == mcp::MCP.spec.name);
            let mut kinds = ServerToolKinds::new();
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

    fn load_skills<'a>(&'a self, wanted: &'a NamedSkills) -> BoxFuture<'a, LoadedSkills> {
        match &self.env.skills {
            Availability::Available(skills) => skills.for_job(wanted),
            Availability::Unavailable(_) => Box::pin(std::future::ready(LoadedSkills::default())),
        }
    }

    fn run<'a>(
        &'a self,
        turn: TurnId,
        call: &'a ToolCall,
        desk: &'a AssistantHandle,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let mut known = Label::PLAIN;
            let (text, outcome) = match resolve_call(turn, call) {
                Ok(ResolvedCall::Request(request)) => answer_result(desk.ask(request).await),
                Ok(ResolvedCall::Run(work, input)) => match work(&self.env, input).await {
                    Ok(text) => (text, Outcome::Done),
                    Err(reason) => error_result(reason),
                },
                Ok(ResolvedCall::RunForCaller(work, input)) => {
                    match work(&self.env, input, Caller { turn, assistant: desk }).await {
                        Ok(told) => {
                            known = told.label;
                            (told.text, Outcome::Done)
                        }
                        Err(reason) => error_result(reason),
                    }
                }
                Err(reason) => error_result(reason),
            };
            let label = self.label(call, &outcome).join(known);
            ToolResult { call: call.id.clone(), text, outcome, label }
        })
    }
}

/// The action for a call.
enum ResolvedCall {
    Request(Request),
    Run(fn(&ToolEnv, Value) -> ToolFuture<'_>, Value),
    RunForCaller(for<'a> fn(&'a ToolEnv, Value, Caller<'a>) -> LabelledToolFuture<'a>, Value),
}

/// Returns the action for `call`, or what is wrong with the call.
fn resolve_call(turn: TurnId, call: &ToolCall) -> Result<ResolvedCall, String> {
    let Some(tool) = TOOLS.iter().find(|tool| tool.spec.name == call.name) else {
        return Err(format!("there is no tool called `{}`.", call.name));
    };
    let input = schema::parse(tool.spec.schema, &call.input.0);
    let resolved = input.and_then(|input| match tool.handler {
        ToolHandler::Request(read) => read(turn, input).map(ResolvedCall::Request),
        ToolHandler::Run(work) => Ok(ResolvedCall::Run(work, input)),
        ToolHandler::RunForCaller(work) => Ok(ResolvedCall::RunForCaller(work, input)),
    });
    resolved.map_err(|wrong| format!("that input does not fit `{}`: {wrong}", tool.spec.name))
}

fn answer_result(answer: Answer) -> (String, Outcome) {
    match answer {
        Answer::Text(text) => (text, Outcome::Done),
        Answer::Shown(showing @ ShownContent::Embed(_)) => {
            ("Embed sent.".to_owned(), Outcome::Shown(showing))
        }
        Answer::Shown(showing @ ShownContent::Text(_)) => {
            ("Message sent.".to_owned(), Outcome::Shown(showing))
        }
        Answer::Refused(text) => error_result(text),
        Answer::MessageQueued(_)
        | Answer::TurnStarted(_)
        | Answer::Rulings(_)
        | Answer::Done
        | Answer::Results(_)
        | Answer::Plans(_)
        | Answer::Numbers(_)
        | Answer::Attention(_)
        | Answer::OverBudget(_) => ("done".to_owned(), Outcome::Done),
    }
}

fn error_result(reason: String) -> (String, Outcome) {
    let text = if reason.starts_with("Error") { reason } else { format!("Error: {reason}") };
    (text, Outcome::Failed)
}

/// Deserializes input that fits the schema, and reports what a schema cannot express.
fn parse_input<T: DeserializeOwned>(input: Value) -> Result<T, String> {
    serde_json::from_value(input).map_err(|error| format!("{error}."))
}

/// Refuses blank text.
fn require_text(field: &str, text: String) -> Result<String, String> {
    if text.trim().is_empty() {
        Err(format!("`{field}` is blank. write what it should say."))
    } else {
        Ok(text)
    }
}

/// Parses a number of minutes, at least 1. `5.0` is accepted as 5.
fn parse_minutes(field: &str, number: &serde_json::Number) -> Result<u32, String> {
    let whole = number.as_f64().filter(|number| number.fract() == 0.0).unwrap_or_default();
    if (1.0..=f64::from(u32::MAX)).contains(&whole) {
        Ok(whole as u32)
    } else {
        Err(format!("`{field}` must be a whole number of minutes, at least 1, and is {number}."))
    }
}

#[cfg(test)]
mod tests;
