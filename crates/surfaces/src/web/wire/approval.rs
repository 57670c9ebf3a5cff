//! Approvals as JSON, with the whole call in an unambiguous form.

use domain::approval::{Approval, Closed, Waits};
use domain::assistant::Doing;
use domain::conversation::Json;
use domain::hidden::spelled_out;
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
pub struct ApprovalWire {
    pub id: u64,
    /// The first approval of the same step of the model. All approvals of a step are shown and
    /// answered together.
    pub step: u64,
    pub turn: u64,
    pub caption: String,
    pub tool: String,
    /// The complete input, never truncated.
    pub input: String,
    pub at: String,
    pub until: String,
    /// True while the turn waits for the answer.
    pub waits: bool,
    /// What an "always" would cover.
    pub always: String,
}

#[derive(Serialize)]
pub struct AnsweredWire {
    pub id: u64,
    pub caption: String,
    pub how: &'static str,
    pub by: &'static str,
    pub at: String,
}

impl From<&Approval> for ApprovalWire {
    fn from(approval: &Approval) -> Self {
        Self {
            id: approval.id.0,
            step: approval.step.0,
            turn: approval.turn.0,
            caption: visible(&approval.caption()),
            tool: visible(&approval.call.name),
            input: whole(&approval.call.input),
            at: approval.at.to_string(),
            until: approval.until().to_string(),
            waits: approval.waits == Waits::Turn,
            always: approval.always(),
        }
    }
}

impl AnsweredWire {
    pub fn new(approval: &Approval, closed: &Closed) -> Self {
        Self {
            id: approval.id.0,
            caption: visible(&approval.caption()),
            how: closed.how.as_str(),
            by: closed.by.as_str(),
            at: closed.at.to_string(),
        }
    }
}

/// Returns the JSON value for the state of a tool call.
pub fn word(doing: Doing) -> &'static str {
    match doing {
        Doing::Runs => "runs",
        Doing::Waits => "waits",
        Doing::Denied => "denied",
    }
}

/// Returns the whole input, pretty-printed if that is equivalent.
fn whole(input: &Json) -> String {
    let value = serde_json::from_str::<Value>(&input.0);
    let lines = value.ok().and_then(|value| serde_json::to_string_pretty(&value).ok()).map(Json);
    visible(lines.filter(|lines| lines.says_the_same_as(input)).as_ref().map_or(&input.0, |lines| &lines.0))
}

/// Escapes invisible characters and those that change the text direction, so the displayed text is
/// what is approved.
fn visible(text: &str) -> String {
    spelled_out(text, |c| c.is_control() && c != '\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_input_is_shown_and_nothing_in_it_is_hidden() {
        let check = |input: &str, expected: &str| assert_eq!(whole(&Json(input.to_owned())), expected);
        check(r#"{"number":1}"#, "{\n  \"number\": 1\n}");
        check(r#"{"n":1,"n":2}"#, r#"{"n":1,"n":2}"#);
        check("not json", "not json");
        check("\"a\u{202e}b\u{200b}\"", r#""a\u202eb\u200b""#);
        check("\"\u{115f}\u{fe0f}\u{e0041}\"", r#""\u115f\ufe0f\udb40\udc41""#);
        check(r#"{"n":1e2}"#, r#"{"n":1e2}"#);
        let long = format!("\"{}\"", "x".repeat(100_000));
        check(&long, &long);
    }
}
