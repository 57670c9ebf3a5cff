//! How things stand.

use domain::assistant::Request;
use domain::tool::ToolSpec;
use serde::Deserialize;

use crate::{Tool, Wanted, parse};

/// Tells how things stand.
pub const STATUS: Tool = Tool {
    spec: ToolSpec {
        name: "status",
        description: "Tells how things stand: how much is in the inbox and what is waiting.",
        schema: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
    },
    read: status,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn status(input: &str) -> Wanted {
    parse(&STATUS, input).map(|Nothing {}| Request::Status)
}
