//! The inbox tools: add, list and remove.

use domain::assistant::{Question, Request, Shelf};
use domain::inbox::KeptId;
use domain::tool::{Class, ToolSpec};
use serde::Deserialize;
use serde_json::Number;
use std::borrow::Cow;

use crate::{Tool, Work, parsed};

pub const ADD: Tool = Tool {
    spec: ToolSpec {
        name: "inbox_add",
        description: Cow::Borrowed(
            "Keeps something the human wants remembered, in their own words, until it is dealt with.",
        ),
        schema: r#"{"type":"object","properties":{"text":{"type":"string","minLength":1}},"required":["text"],"additionalProperties":false}"#,
        class: Class::Notes,
    },
    work: Work::Asks(|_, input| parsed(input).map(|Add { text }| Request::Inbox(Shelf::Keep(text)))),
};

pub const LIST: Tool = Tool {
    spec: ToolSpec {
        name: "inbox_list",
        description: Cow::Borrowed("Lists what is in the inbox, oldest first."),
        schema: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        class: Class::Own,
    },
    work: Work::Asks(|_, _| Ok(Request::Tell(Question::Inbox))),
};

pub const REMOVE: Tool = Tool {
    spec: ToolSpec {
        name: "inbox_remove",
        description: Cow::Borrowed(
            "Removes one thing from the inbox for good, by its number in `inbox_list`. The human is asked \
                      first.",
        ),
        schema: r#"{"type":"object","properties":{"number":{"type":"integer","minimum":1}},"required":["number"],"additionalProperties":false}"#,
        class: Class::Acts,
    },
    work: Work::Asks(|_, input| {
        parsed(input)
            .and_then(|Remove { number }| number_of(&number).map(|id| Request::Inbox(Shelf::Remove(id))))
    }),
};

/// Parses the number of an inbox item. `3.0` is accepted as 3.
fn number_of(number: &Number) -> Result<KeptId, String> {
    let whole = number.as_u64().or_else(|| number.as_f64().map(|number| number as u64));
    whole.map(KeptId).ok_or_else(|| format!("`number` must be a number in `inbox_list`, and is {number}."))
}

#[derive(Deserialize)]
struct Remove {
    number: Number,
}

#[derive(Deserialize)]
struct Add {
    text: String,
}
