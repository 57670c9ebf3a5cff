//! Approvals as JSON, with the whole call in an unambiguous form.

use domain::approval::{Approval, ClosedApproval, Waiter};
use domain::assistant::ToolPhase;
use domain::conversation::Json;
use domain::hidden_chars::escape_hidden;
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
pub struct ApprovalDto {
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
    /// Description of the calls that an "always" would allow.
    pub always: String,
}

#[derive(Serialize)]
pub struct ClosedApprovalDto {
    pub id: u64,
    pub caption: String,
    pub how: &'static str,
    pub by: &'static str,
    pub at: String,
}

impl From<&Approval> for ApprovalDto {
    fn from(approval: &Approval) -> Self {
        Self {
            id: approval.id.0,
            step: approval.step.0,
            turn: approval.turn.0,
            caption: escape_invisible(&approval.caption()),
            tool: escape_invisible(&approval.call.name),
            input: complete_input(&approval.call.input),
            at: approval.at.to_string(),
            until: approval.expires_at().to_string(),
            waits: approval.waiter == Waiter::Turn,
            always: approval.always_text(),
        }
    }
}

impl ClosedApprovalDto {
    pub fn new(approval: &Approval, closed: &ClosedApproval) -> Self {
        Self {
            id: approval.id.0,
            caption: escape_invisible(&approval.caption()),
            how: closed.outcome.as_str(),
            by: closed.surface.as_str(),
            at: closed.at.to_string(),
        }
    }
}

/// Returns the JSON value for the state of a tool call.
pub fn tool_state(doing: ToolPhase) -> &'static str {
    match doing {
        ToolPhase::Running => "runs",
        ToolPhase::AwaitingApproval => "waits",
        ToolPhase::Denied => "denied",
    }
}

/// Returns the whole input, pretty-printed if that is equivalent.
fn complete_input(input: &Json) -> String {
    let value = serde_json::from_str::<Value>(&input.0);
    let lines = value.ok().and_then(|value| serde_json::to_string_pretty(&value).ok()).map(Json);
    escape_invisible(
        lines.filter(|lines| lines.is_equivalent(input)).as_ref().map_or(&input.0, |lines| &lines.0),
    )
}

/// Escapes invisible characters and those that change the text direction, so the displayed text is
/// what is approved.
fn escape_invisible(text: &str) -> String {
    escape_hidden(text, |c| c.is_control() && c != '\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_input_is_shown_without_invisible_characters() {
        let check =
            |input: &str, expected: &str| assert_eq!(complete_input(&Json(input.to_owned())), expected);
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
