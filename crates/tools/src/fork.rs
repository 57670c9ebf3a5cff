//! The tools that start an interactive fork and end it in one of three ways.

use domain::assistant::{Progress, Request};
use domain::tool::{Class, ToolSpec};
use domain::turn::TurnId;
use domain::wish::{Asked, Wish};
use serde::Deserialize;
use serde_json::{Number, Value};
use std::borrow::Cow;

use crate::{NOTHING, Tool, Wanted, Work, minutes, parsed, words};

pub const ENTER: Tool = Tool {
    spec: ToolSpec {
        name: "enter_fork",
        description: Cow::Borrowed(
            "In the main conversation: starts an interactive fork, and interrupts this turn. What is said \
            there stays out of main. `idle_timeout` is in minutes; 10 if left out.",
        ),
        schema: r#"{"type":"object","properties":{"topic":{"type":"string"},"idle_timeout":{"type":"integer"}}}"#,
        class: Class::Own,
    },
    work: Work::Asks(enter),
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
        class: Class::Own,
    },
    work: Work::Asks(report),
};

/// Promotes the fork to main.
pub const SAVE: Tool = Tool {
    spec: ToolSpec {
        name: "save_context",
        description: Cow::Borrowed(
            "In an interactive fork: makes all of it the main conversation after your response. Rarely right.",
        ),
        schema: NOTHING,
        class: Class::Own,
    },
    work: Work::Asks(|turn, _| Ok(Request::Turn(turn, Progress::Wishes(Wish::Save)))),
};

/// Discards the fork.
pub const EXIT: Tool = Tool {
    spec: ToolSpec {
        name: "exit_fork",
        description: Cow::Borrowed(
            "In an interactive fork: discards it after your response, when nothing is worth keeping.",
        ),
        schema: NOTHING,
        class: Class::Own,
    },
    work: Work::Asks(|turn, _| Ok(Request::Turn(turn, Progress::Wishes(Wish::ExitFork)))),
};

#[derive(Deserialize)]
struct Enter {
    topic: Option<String>,
    idle_timeout: Option<Number>,
}

fn enter(turn: TurnId, input: Value) -> Wanted {
    let Enter { topic, idle_timeout } = parsed(input)?;
    let topic = topic.map(|topic| topic.trim().to_owned()).filter(|topic| !topic.is_empty());
    let idle_minutes = idle_timeout.map(|time| minutes("idle_timeout", &time)).transpose()?;
    Ok(Request::Turn(turn, Progress::Wishes(Wish::EnterFork(Asked { topic, idle_minutes }))))
}

#[derive(Deserialize)]
struct Report {
    message: String,
}

fn report(turn: TurnId, input: Value) -> Wanted {
    let Report { message } = parsed(input)?;
    Ok(Request::Turn(turn, Progress::Wishes(Wish::Report(words("message", message)?))))
}
