//! The tools of a persistent routine for its own session.

use domain::assistant::{Progress, Request};
use domain::tool::{Class, ToolSpec};
use domain::turn::TurnId;
use domain::wish::Wish;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

use crate::{Tool, Wanted, Work, parsed, words};

/// Requests a compaction of the session.
pub const COMPACT: Tool = Tool {
    spec: ToolSpec {
        name: "compact_session",
        description: Cow::Borrowed(
            "In a persistent routine: compacts its session after you have finished, when it has grown large.",
        ),
        schema: r#"{"type":"object","required":["instructions"],"properties":{"instructions":{"type":"string","description":"what to keep and what to drop when compacting"}}}"#,
        class: Class::Own,
    },
    work: Work::Asks(compact),
};

#[derive(Deserialize)]
struct Compact {
    instructions: String,
}

fn compact(turn: TurnId, input: Value) -> Wanted {
    let Compact { instructions } = parsed(input)?;
    Ok(Request::Turn(turn, Progress::Wishes(Wish::Compact(words("instructions", instructions)?))))
}
