//! The status tool.

use domain::assistant::{Question, Request};
use domain::tool::{Class, ToolSpec};
use std::borrow::Cow;

use crate::{Tool, Work};

pub const STATUS: Tool = Tool {
    spec: ToolSpec {
        name: "status",
        description: Cow::Borrowed("Tells how things stand: how much is in the inbox and what is waiting."),
        schema: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        class: Class::Own,
    },
    work: Work::Asks(|_, _| Ok(Request::Tell(Question::Status))),
};
