//! The tools of a persistent routine for its own session.

use domain::assistant::{Request, TurnRequest};
use domain::context_tool::ContextTool;
use domain::tool::{ToolClass, ToolSpec};
use domain::turn::TurnId;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

use crate::{ParsedRequest, Tool, ToolHandler, parse_input, require_text};

/// Requests a compaction of the session.
pub const COMPACT: Tool = Tool {
    spec: ToolSpec {
        name: "compact_session",
        description: Cow::Borrowed(
            "In a persistent routine: compacts its session after you have finished, when it has grown large.",
        ),
        schema: r#"{"type":"object","required":["instructions"],"properties":{"instructions":{"type":"string","description":"what to keep and what to drop when compacting"}}}"#,
        class: ToolClass::Own,
    },
    handler: ToolHandler::Request(compact),
};

#[derive(Deserialize)]
struct CompactInput {
    instructions: String,
}

fn compact(turn: TurnId, input: Value) -> ParsedRequest {
    let CompactInput { instructions } = parse_input(input)?;
    Ok(Request::Turn(
        turn,
        TurnRequest::UseContextTool(ContextTool::Compact(require_text("instructions", instructions)?)),
    ))
}
