//! The single tool for all accepted tools of MCP servers. With one name, the tool list of the model
//! does not depend on the configured servers.

use domain::tool::{ToolClass, ToolSpec};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

use crate::{Tool, ToolEnv, ToolFuture, ToolHandler, parse_input};

pub(crate) const MCP: Tool = Tool {
    spec: ToolSpec {
        name: "mcp",
        description: Cow::Borrowed(
            "Calls a tool of a server that the human has accepted: `tool` is `mcp__<server>__<tool>`, as \
            `ollim-bot mcp-servers list` names it, and `input` is what that tool takes.",
        ),
        schema: r#"{"type":"object","required":["tool"],"properties":{"tool":{"type":"string","minLength":1},"input":{"type":"object"}}}"#,
        class: ToolClass::Foreign,
    },
    handler: ToolHandler::Run(call),
};

#[derive(Deserialize)]
struct McpInput {
    tool: String,
    input: Option<Value>,
}

fn call(workshop: &ToolEnv, input: Value) -> ToolFuture<'_> {
    Box::pin(async move {
        let McpInput { tool, input } = parse_input(input)?;
        let servers = workshop.mcp_servers.get(MCP.spec.name)?;
        servers.call(&tool, input.unwrap_or_else(|| Value::Object(serde_json::Map::new()))).await
    })
}
