//! The tool that pings the user from a background run.

use domain::assistant::{Request, TurnRequest};
use domain::context_tool::{ContextTool, Urgency};
use domain::tool::{ToolClass, ToolSpec};
use domain::turn::TurnId;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

use crate::{ParsedRequest, Tool, ToolHandler, parse_input, require_text};

pub const PING: Tool = Tool {
    spec: ToolSpec {
        name: "ping_user",
        description: Cow::Borrowed(
            "In a background run: sends the human a message now. It costs one ping of the budget, and a run \
            has one. `critical` passes the budget and is for what cannot wait.",
        ),
        schema: r#"{"type":"object","required":["message"],"properties":{"message":{"type":"string"},"critical":{"type":"boolean"}}}"#,
        class: ToolClass::Own,
    },
    handler: ToolHandler::Request(ping),
};

/// The model's `critical` flag.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(transparent)]
pub struct CriticalFlag(bool);

impl From<CriticalFlag> for Urgency {
    fn from(CriticalFlag(critical): CriticalFlag) -> Self {
        if critical { Self::Critical } else { Self::Normal }
    }
}

#[derive(Deserialize)]
struct PingInput {
    message: String,
    #[serde(default)]
    critical: CriticalFlag,
}

fn ping(turn: TurnId, input: Value) -> ParsedRequest {
    let PingInput { message, critical } = parse_input(input)?;
    Ok(Request::Turn(
        turn,
        TurnRequest::UseContextTool(ContextTool::Ping(require_text("message", message)?, critical.into())),
    ))
}
