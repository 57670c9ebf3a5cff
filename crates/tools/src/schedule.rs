//! The planner tool, which takes plain text.

use domain::assistant::{Request, ScheduleCommand};
use domain::tool::{ToolClass, ToolSpec};
use serde::Deserialize;
use std::borrow::Cow;

use crate::{Tool, ToolHandler, parse_input, require_text};

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
        class: ToolClass::Plans,
    },
    handler: ToolHandler::Request(|_, input| {
        let ScheduleInput { words: said } = parse_input(input)?;
        require_text("words", said).map(|said| Request::Schedule(ScheduleCommand::PlanText(said)))
    }),
};

#[derive(Deserialize)]
struct ScheduleInput {
    words: String,
}
