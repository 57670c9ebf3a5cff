//! The inbox tools: add, list and remove.

use domain::assistant::{InboxCommand, Query, Request};
use domain::inbox::InboxItemId;
use domain::tool::{ToolClass, ToolSpec};
use serde::Deserialize;
use serde_json::Number;
use std::borrow::Cow;

use crate::{Tool, ToolHandler, parse_input};

pub const ADD: Tool = Tool {
    spec: ToolSpec {
        name: "inbox_add",
        description: Cow::Borrowed(
            "Keeps something the human wants remembered, in their own words, until it is dealt with.",
        ),
        schema: r#"{"type":"object","properties":{"text":{"type":"string","minLength":1}},"required":["text"],"additionalProperties":false}"#,
        class: ToolClass::Notes,
    },
    handler: ToolHandler::Request(|_, input| {
        parse_input(input).map(|AddInput { text }| Request::Inbox(InboxCommand::Keep(text)))
    }),
};

pub const LIST: Tool = Tool {
    spec: ToolSpec {
        name: "inbox_list",
        description: Cow::Borrowed("Lists what is in the inbox, oldest first."),
        schema: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        class: ToolClass::Own,
    },
    handler: ToolHandler::Request(|_, _| Ok(Request::Query(Query::Inbox))),
};

pub const REMOVE: Tool = Tool {
    spec: ToolSpec {
        name: "inbox_remove",
        description: Cow::Borrowed(
            "Removes one thing from the inbox for good, by its number in `inbox_list`. The human is asked \
                      first.",
        ),
        schema: r#"{"type":"object","properties":{"number":{"type":"integer","minimum":1}},"required":["number"],"additionalProperties":false}"#,
        class: ToolClass::Acts,
    },
    handler: ToolHandler::Request(|_, input| {
        parse_input(input).and_then(|RemoveInput { number }| {
            parse_id(&number).map(|id| Request::Inbox(InboxCommand::Remove(id)))
        })
    }),
};

/// Parses the number of an inbox item. `3.0` is accepted as 3.
fn parse_id(number: &Number) -> Result<InboxItemId, String> {
    let whole = number.as_u64().or_else(|| number.as_f64().map(|number| number as u64));
    whole
        .map(InboxItemId)
        .ok_or_else(|| format!("`number` must be a number in `inbox_list`, and is {number}."))
}

#[derive(Deserialize)]
struct RemoveInput {
    number: Number,
}

#[derive(Deserialize)]
struct AddInput {
    text: String,
}
