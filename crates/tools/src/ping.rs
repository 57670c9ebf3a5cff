//! The tool that pings the user from a background run.

use domain::assistant::{Progress, Request};
use domain::tool::{Class, ToolSpec};
use domain::turn::TurnId;
use domain::wish::{Urgency, Wish};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

use crate::{Tool, Wanted, Work, parsed, words};

pub const PING: Tool = Tool {
    spec: ToolSpec {
        name: "ping_user",
        description: Cow::Borrowed(
            "In a background run: sends the human a message now. It costs one ping of the budget, and a run \
            has one. `critical` passes the budget and is for what cannot wait.",
        ),
        schema: r#"{"type":"object","required":["message"],"properties":{"message":{"type":"string"},"critical":{"type":"boolean"}}}"#,
        class: Class::Own,
    },
    work: Work::Asks(ping),
};

/// The model's `critical` flag.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(transparent)]
pub struct Critical(bool);

impl From<Critical> for Urgency {
    fn from(Critical(critical): Critical) -> Self {
        if critical { Self::Critical } else { Self::Normal }
    }
}

#[derive(Deserialize)]
struct Ping {
    message: String,
    #[serde(default)]
    critical: Critical,
}

fn ping(turn: TurnId, input: Value) -> Wanted {
    let Ping { message, critical } = parsed(input)?;
    Ok(Request::Turn(turn, Progress::Wishes(Wish::Ping(words("message", message)?, critical.into()))))
}
