//! The tool that schedules the next check of a reminder chain.

use domain::assistant::{Request, TurnRequest};
use domain::context_tool::ContextTool;
use domain::tool::{ToolClass, ToolSpec};
use domain::turn::TurnId;
use serde::Deserialize;
use serde_json::{Number, Value};
use std::borrow::Cow;

use crate::{ParsedRequest, Tool, ToolHandler, parse_input, parse_minutes};

pub const FOLLOW_UP: Tool = Tool {
    spec: ToolSpec {
        name: "follow_up_chain",
        description: Cow::Borrowed(
            "In a chain reminder: schedules the next check of the same chain. Not calling it ends the chain.",
        ),
        schema: r#"{"type":"object","required":["minutes_from_now"],"properties":{"minutes_from_now":{"type":"integer"}}}"#,
        class: ToolClass::Own,
    },
    handler: ToolHandler::Request(follow_up),
};

#[derive(Deserialize)]
struct FollowUp {
    minutes_from_now: Number,
}

fn follow_up(turn: TurnId, input: Value) -> ParsedRequest {
    let FollowUp { minutes_from_now } = parse_input(input)?;
    Ok(Request::Turn(
        turn,
        TurnRequest::UseContextTool(ContextTool::FollowUp(parse_minutes(
            "minutes_from_now",
            &minutes_from_now,
        )?)),
    ))
}
