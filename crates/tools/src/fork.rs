//! The tools that start an interactive fork and end it in one of three ways.

use domain::assistant::{Request, TurnRequest};
use domain::context_tool::{ContextTool, ForkOptions};
use domain::tool::{ToolClass, ToolSpec};
use domain::turn::TurnId;
use serde::Deserialize;
use serde_json::{Number, Value};
use std::borrow::Cow;

use crate::{
    EMPTY_OBJECT_SCHEMA, ParsedRequest, Tool, ToolHandler, parse_input, parse_minutes, require_text,
};

pub const ENTER: Tool = Tool {
    spec: ToolSpec {
        name: "enter_fork",
        description: Cow::Borrowed(
            "In the main conversation: starts an interactive fork, and interrupts this turn. What is said \
            there stays out of main. `idle_timeout` is in minutes; 10 if left out.",
        ),
        schema: r#"{"type":"object","properties":{"topic":{"type":"string"},"idle_timeout":{"type":"integer"}}}"#,
        class: ToolClass::Own,
    },
    handler: ToolHandler::Request(enter),
};

/// Leaves a summary for main; this also ends an interactive fork.
pub const REPORT: Tool = Tool {
    spec: ToolSpec {
        name: "report_updates",
        description: Cow::Borrowed(
            "In a fork: leaves a short summary that the main conversation reads once. An interactive fork is \
            discarded after your response; a background run goes on.",
        ),
        schema: r#"{"type":"object","required":["message"],"properties":{"message":{"type":"string"}}}"#,
        class: ToolClass::Own,
    },
    handler: ToolHandler::Request(report),
};

/// Promotes the fork to main.
pub const SAVE: Tool = Tool {
    spec: ToolSpec {
        name: "save_context",
        description: Cow::Borrowed(
            "In an interactive fork: makes all of it the main conversation after your response. Rarely right.",
        ),
        schema: EMPTY_OBJECT_SCHEMA,
        class: ToolClass::Own,
    },
    handler: ToolHandler::Request(|turn, _| {
        Ok(Request::Turn(turn, TurnRequest::UseContextTool(ContextTool::Save)))
    }),
};

/// Discards the fork.
pub const EXIT: Tool = Tool {
    spec: ToolSpec {
        name: "exit_fork",
        description: Cow::Borrowed(
            "In an interactive fork: discards it after your response, when nothing is worth keeping.",
        ),
        schema: EMPTY_OBJECT_SCHEMA,
        class: ToolClass::Own,
    },
    handler: ToolHandler::Request(|turn, _| {
        Ok(Request::Turn(turn, TurnRequest::UseContextTool(ContextTool::ExitFork)))
    }),
};

#[derive(Deserialize)]
struct EnterInput {
    topic: Option<String>,
    idle_timeout: Option<Number>,
}

fn enter(turn: TurnId, input: Value) -> ParsedRequest {
    let EnterInput { topic, idle_timeout } = parse_input(input)?;
    let topic = topic.map(|topic| topic.trim().to_owned()).filter(|topic| !topic.is_empty());
    let idle_minutes = idle_timeout.map(|time| parse_minutes("idle_timeout", &time)).transpose()?;
    Ok(Request::Turn(
        turn,
        TurnRequest::UseContextTool(ContextTool::EnterFork(ForkOptions { topic, idle_minutes })),
    ))
}

#[derive(Deserialize)]
struct ReportInput {
    message: String,
}

fn report(turn: TurnId, input: Value) -> ParsedRequest {
    let ReportInput { message } = parse_input(input)?;
    Ok(Request::Turn(
        turn,
        TurnRequest::UseContextTool(ContextTool::Report(require_text("message", message)?)),
    ))
}
