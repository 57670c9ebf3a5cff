//! Button actions on tasks and calendar events. A press is carried out at once; if outside text was
//! present when the button was made, it needs an approval first.

use jiff::Zoned;

use super::{Answer, ApprovalUpdate, Assistant, Effect, Transaction, Update};
use crate::approval::{Approval, ApprovalId, ApprovalOutcome, MAX_OPEN, Waiter};
use crate::conversation::{Branch, Json};
use crate::record::{ApprovalChange, Record, SurfaceName};
use crate::sent_messages::SentId;
use crate::tool::{Outcome, ToolCall, ToolResult};
use crate::turn::TurnId;

/// Call id of calls made by buttons.
const PRESS_CALL_ID: &str = "press";

/// An action of a button on a task or an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccountAction {
    /// XB-12.
    TaskDone,
    /// XB-13.
    TaskDelete,
    /// XB-14.
    EventDelete,
}

impl AccountAction {
    const ALL: [Self; 3] = [Self::TaskDone, Self::TaskDelete, Self::EventDelete];

    fn command_prefix(self) -> &'static str {
        match self {
            Self::TaskDone => "ollim-bot tasks done ",
            Self::TaskDelete => "ollim-bot tasks delete ",
            Self::EventDelete => "ollim-bot cal delete ",
        }
    }

    /// Returns the pending update for main.
    fn update_text(self, title: &str) -> String {
        match self {
            Self::TaskDone => format!("User completed task \"{title}\""),
            Self::TaskDelete => format!("User deleted task \"{title}\""),
            Self::EventDelete => format!("User deleted calendar event \"{title}\""),
        }
    }

    /// Returns the confirmation for the user.
    fn confirmation(self, title: &str) -> String {
        match self {
            Self::TaskDone => format!("done: {title}"),
            Self::TaskDelete => format!("deleted: {title}"),
            Self::EventDelete => format!("deleted from the calendar: {title}"),
        }
    }

    fn of_call(call: &ToolCall) -> Option<Self> {
        let command = call.input.text("command").filter(|_| call.id == PRESS_CALL_ID)?;
        Self::ALL.into_iter().find(|chore| command.starts_with(chore.command_prefix()))
    }
}

impl Assistant {
    /// Carries out or asks for `action` on the task or event `id`, for a button on the message
    /// `on`.
    pub(super) fn press_account_action(
        &mut self,
        surface: SurfaceName,
        on: SentId,
        action: AccountAction,
        id: &str,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric() || "._@:=+/-".contains(c)) {
            return (
                Answer::Refused("that button names nothing that i know. tell me instead.".to_owned()),
                Vec::new(),
            );
        }
        if self.state.approvals.open.len() >= MAX_OPEN {
            let why = "too much waits for your yes or no already. answer some of it first.";
            return (Answer::Refused(why.to_owned()), Vec::new());
        }
        let mut tx = Transaction::at(now);
        let number = self.state.approvals.next_id;
        self.state.approvals.next_id = ApprovalId(number.0 + 1);
        let input = Json(format!("{{\"command\":\"{}{id} --json\"}}", action.command_prefix()));
        let call = ToolCall { id: PRESS_CALL_ID.to_owned(), name: "Bash".to_owned(), input };
        // No turn made this call; it is recorded with the newest one.
        let turn = TurnId(self.state.turns.next.0.saturating_sub(1));
        let branch = Branch::Main;
        let known = self.state.messages.sent.label(on).unwrap_or_else(|| self.label(&Branch::Main));
        let at = tx.at;
        let waits = Waiter::Card;
        let approval =
            Approval { id: number, step: number, at, turn, branch, call, label: known, waiter: waits };
        self.state.approvals.open.push(approval.clone());
        tx.records.push(Record::Approval(ApprovalChange::Asked(approval.clone())));
        if known.is_tainted() {
            tx.updates.push(Update::Approval(ApprovalUpdate::Open(approval)));
            let text = "words from outside were around when that button was made, so i ask you first.";
            return (Answer::Text(text.to_owned()), tx.into_effects());
        }
        self.close_approval(&approval, ApprovalOutcome::Allowed, surface, &mut tx);
        self.carry_out(&approval, &mut tx);
        (Answer::Text("i do that now.".to_owned()), tx.into_effects())
    }

    /// XB-12 to XB-15: shows the result of a button action and leaves a pending update for main.
    /// Returns `None` if the call was not made by a button.
    pub(super) fn on_account_action_done(
        &mut self,
        id: ApprovalId,
        result: &ToolResult,
        tx: &mut Transaction,
    ) -> Option<()> {
        let closed = self.state.approvals.closed.iter().rfind(|closed| closed.id == id)?;
        let action = AccountAction::of_call(&closed.call)?;
        if result.outcome != Outcome::Done {
            let why = result.text.trim_start_matches("Error: ");
            tx.updates.push(Update::Notice(format!("that did not work: {why}")));
            return Some(());
        }
        let title = first_title(&result.text).unwrap_or_else(|| "(no title)".to_owned());
        tx.updates.push(Update::Notice(action.confirmation(&title)));
        self.leave_update("button", result.label, action.update_text(&title), tx);
        Some(())
    }
}

/// Returns the first JSON title in `text`.
fn first_title(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("\"title\":")?;
    let rest = rest.trim_start().strip_prefix('"')?;
    let mut escaped = false;
    let end = rest.char_indices().find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    })?;
    Json(format!("{{\"title\":\"{}\"}}", &rest[..end.0])).text("title")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_with_escapes_is_found() {
        let check =
            |text: &str, expected: Option<&str>| assert_eq!(first_title(text).as_deref(), expected, "{text}");
        check(r#"{"task":{"id":"a","title":"buy \"milk\" \\","due":null}}"#, Some(r#"buy "milk" \"#));
        check("{\n \"event\": {\n \"title\": \"x\"}}", Some("x"));
        check("completed a", None);
        check("{\"title\":\"x", None);
        check("{\"title\":3}", None);
    }
}
