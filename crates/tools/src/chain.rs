//! The tool that schedules the next check of a reminder chain.

use domain::assistant::{Progress, Request};
use domain::tool::{Class, ToolSpec};
use domain::turn::TurnId;
use domain::wish::Wish;
use serde::Deserialize;
use serde_json::{Number, Value};
use std::borrow::Cow;

use crate::{Tool, Wanted, Work, minutes, parsed};

pub const FOLLOW_UP: Tool = Tool {
    spec: ToolSpec {
        name: "follow_up_chain",
        description: Cow::Borrowed(
            "In a chain reminder: schedules the next check of the same chain. Not calling it ends the chain.",
        ),
        schema: r#"{"type":"object","required":["minutes_from_now"],"properties":{"minutes_from_now":{"type":"integer"}}}"#,
        class: Class::Own,
    },
    work: Work::Asks(follow_up),
};

#[derive(Deserialize)]
struct FollowUp {
    minutes_from_now: Number,
}

fn follow_up(turn: TurnId, input: Value) -> Wanted {
    let FollowUp { minutes_from_now } = parsed(input)?;
    Ok(Request::Turn(turn, Progress::Wishes(Wish::FollowUp(minutes("minutes_from_now", &minutes_from_now)?))))
}
