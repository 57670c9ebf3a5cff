//! The tool that delegates to a subagent. The assistant starts the subagent; nothing runs here.

use domain::tool::{ToolClass, ToolSpec};
use std::borrow::Cow;

use crate::{Tool, ToolHandler};

pub(crate) const TASK: Tool = Tool {
    spec: ToolSpec {
        name: "Task",
        description: Cow::Borrowed(
            "Lets an agent work aside and waits for its answer. `subagent_type` is `gmail-reader`, \
            `history-reviewer`, `responsiveness-reviewer`, `user-proxy` (what would the human prefer?) or `guide` (how is \
            this program used?); `prompt` is all it knows.",
        ),
        schema: r#"{"type":"object","required":["subagent_type","prompt"],"properties":{"subagent_type":{"type":"string","minLength":1},"prompt":{"type":"string","minLength":1},"description":{"type":"string"}}}"#,
        class: ToolClass::Delegates,
    },
    handler: ToolHandler::Request(|_, _| {
        Err("agents are set to work by the assistant, not by hand.".to_owned())
    }),
};
