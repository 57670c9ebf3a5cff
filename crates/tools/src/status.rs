//! The status tool.

use domain::assistant::{Query, Request};
use domain::tool::{ToolClass, ToolSpec};
use std::borrow::Cow;

use crate::{Tool, ToolHandler};

pub const STATUS: Tool = Tool {
    spec: ToolSpec {
        name: "status",
        description: Cow::Borrowed("Tells how things stand: how much is in the inbox and what is waiting."),
        schema: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        class: ToolClass::Own,
    },
    handler: ToolHandler::Request(|_, _| Ok(Request::Query(Query::Status))),
};
