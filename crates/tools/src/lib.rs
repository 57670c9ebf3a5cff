//! What the model can do: one file a tool or a few that belong together, and the list of them.
//!
//! A tool reads the input the model wrote, and asks the assistant or works itself, with what is in the workshop. The
//! input is held against the tool's own schema first. Whatever goes wrong is told in words the model can act on, and
//! starts with `Error`.

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

/// What a tool makes of its input: something to ask the assistant, or why not.
type Wanted = Result<Request, String>;

/// What a tool that works itself will tell, or why it did not work.
type Done<'a> = BoxFuture<'a, Result<String, String>>;

/// Text for the model with its label, where that is known only once the text is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelled {
    /// The text.
    pub text: String,
    /// Its label.
    pub label: Label,
}

/// What a tool that labels its text itself will tell, or why it did not work.
type DoneLabelled<'a> = BoxFuture<'a, Result<Labelled, String>>;

/// One tool.
struct Tool {
    spec: ToolSpec,
    work: Work,
}

/// How a tool works. What it gets fits its schema.
#[derive(Clone, Copy)]
enum Work {
    /// It asks the assistant something, for the turn that called.
    Asks(fn(TurnId, Value) -> Wanted),
    /// It works itself.
    Does(fn(&Workshop, Value) -> Done<'_>),
    /// It works itself for its caller, and labels what it tells.
    DoesFor(for<'a> fn(&'a Workshop, Value, Caller<'a>) -> DoneLabelled<'a>),
}

/// The turn that called a tool, and how the assistant is reached.
#[derive(Clone, Copy)]
struct Caller<'a> {
    turn: TurnId,
    desk: &'a Desk,
}

/// All tools, in the order in which the model is told of them.
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

/// A schema that takes an object and asks for nothing in it.
const NOTHING: &str = r#"{"type":"object","properties":{}}"#;

/// The tools. Without a workshop those that work themselves are off, and say so.
#[derive(Default)]
pub struct Toolbox {
    workshop: Workshop,
}

impl Toolbox {
    /// All of them, with what is in `workshop`.
    pub fn new(workshop: Workshop) -> Self {
        Self { workshop }
    }
}

impl Toolbox {
    /// What is known of what comes of `call`. Why something failed is said in our own words, but for servers of others
    /// and for what a command printed before it was ended.
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

/// What is to be done about a call.
enum Order {
    /// Ask the assistant.
    Ask(Request),
    /// Work.
    Do(fn(&Workshop, Value) -> Done<'_>, Value),
    /// Work for the caller, and label the text.
    DoFor(for<'a> fn(&'a Workshop, Value, Caller<'a>) -> DoneLabelled<'a>, Value),
}

/// What is to be done about `call`, or what is wrong with it.
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

/// Reads what fits the schema into `T`. What a schema cannot say is found here.
fn parsed<T: DeserializeOwned>(input: Value) -> Result<T, String> {
    serde_json::from_value(input).map_err(|error| format!("{error}."))
}

/// Words that say something.
fn words(field: &str, text: String) -> Result<String, String> {
    if text.trim().is_empty() {
        Err(format!("`{field}` is blank. write what it should say."))
    } else {
        Ok(text)
    }
}

/// A number of minutes, at least one. A number such as `5.0` is whole too.
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
