//! The planner tool, which takes plain text.

use domain::assistant::{Planning, Request};
use domain::tool::{Class, ToolSpec};
use serde::Deserialize;
use std::borrow::Cow;

use crate::{Tool, Work, parsed, words};

pub const SCHEDULE: Tool = Tool {
    spec: ToolSpec {
        name: "schedule",
        description: Cow::Borrowed(
            "The human's reminders, in plain English, one thing a call: `call the dentist tomorrow at 10`, \
                      `stretch every weekday at 3pm`, `tea in 4 min`, `today`, `week`, `when is dentist`, `done \
                      dentist`, `move dentist to thu 11`, `cancel dentist`, `undo`, `pause until thursday`, `resume`. \
                      Repeat the time to the human as it comes back.",
        ),
        schema: r#"{"type":"object","properties":{"words":{"type":"string","minLength":1}},"required":["words"],"additionalProperties":false}"#,
        class: Class::Plans,
    },
    work: Work::Asks(|_, input| {
        let Said { words: said } = parsed(input)?;
        words("words", said).map(|said| Request::Plan(Planning::Words(said)))
    }),
};

#[derive(Deserialize)]
struct Said {
    words: String,
}
