//! Button actions on tasks and calendar events. A press is carried out at once; if outside text was
//! present when the button was made, it needs an approval first.

use jiff::Zoned;

use super::{Answer, Asking, Assistant, Effect, Minutes, Shown};
use crate::approval::{Approval, ApprovalId, How, OPEN, Waits};
use crate::conversation::{Branch, Json};
use crate::record::{ApprovalChange, Record, SurfaceName};
use crate::sent::SentId;
use crate::tool::{Outcome, ToolCall, ToolResult};
use crate::turn::TurnId;

/// Call id of calls made by buttons.
const PRESSED: &str = "press";

/// An action of a button on a task or an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chore {
    /// XB-12.
    TaskDone,
    /// XB-13.
    TaskDelete,
    /// XB-14.
    EventDelete,
}

impl Chore {
    const ALL: [Self; 3] = [Self::TaskDone, Self::TaskDelete, Self::EventDelete];

    fn command(self) -> &'static str {
        match self {
            Self::TaskDone => "ollim-bot tasks done ",
            Self::TaskDelete => "ollim-bot tasks delete ",
            Self::EventDelete => "ollim-bot cal delete ",
        }
    }

    /// Returns the pending update for main.
    fn told(self, title: &str) -> String {
        match self {
            Self::TaskDone => format!("User completed task \"{title}\""),
            Self::TaskDelete => format!("User deleted task \"{title}\""),
            Self::EventDelete => format!("User deleted calendar event \"{title}\""),
        }
    }

    /// Returns the confirmation for the user.
    fn confirmed(self, title: &str) -> String {
        match self {
            Self::TaskDone => format!("done: {title}"),
            Self::TaskDelete => format!("deleted: {title}"),
            Self::EventDelete => format!("deleted from the calendar: {title}"),
        }
    }

    fn of(call: &ToolCall) -> Option<Self> {
        let command = call.input.text("command").filter(|_| call.id == PRESSED)?;
        Self::ALL.into_iter().find(|chore| command.starts_with(chore.command()))
    }
}

impl Assistant {
    /// Carries out or asks for `action` on the task or event `id`, for a button on the message
    /// `on`.
    pub(super) fn press_chore(
        &mut self,
        surface: SurfaceName,
        on: SentId,
        chore: Chore,
        id: &str,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric() || "._@:=+/-".contains(c)) {
            return (
                Answer::Refused("that button names nothing that i know. tell me instead.".to_owned()),
                Vec::new(),
            );
        }
        if self.memory.approvals.open.len() >= OPEN {
            let why = "too much waits for your yes or no already. answer some of it first.";
            return (Answer::Refused(why.to_owned()), Vec::new());
        }
        let mut minutes = Minutes::at(now);
        let number = self.memory.approvals.next;
        self.memory.approvals.next = ApprovalId(number.0 + 1);
        let input = Json(format!("{{\"command\":\"{}{id} --json\"}}", chore.command()));
        let call = ToolCall { id: PRESSED.to_owned(), name: "Bash".to_owned(), input };
        // No turn made this call; it is recorded with the newest one.
        let turn = TurnId(self.memory.turns.next.0.saturating_sub(1));
        let branch = Branch::Main;
        let known = self.memory.messages.sent.label(on).unwrap_or_else(|| self.label_of(&Branch::Main));
        let at = minutes.at;
        let waits = Waits::Card;
        let approval = Approval { id: number, step: number, at, turn, branch, call, knows: known, waits };
        self.memory.approvals.open.push(approval.clone());
        minutes.records.push(Record::Approval(ApprovalChange::Asked(approval.clone())));
        if known.is_tainted() {
            minutes.shown.push(Shown::Approval(Asking::Open(approval)));
            let text = "words from outside were around when that button was made, so i ask you first.";
            return (Answer::Told(text.to_owned()), minutes.effects());
        }
        self.close(&approval, How::Allowed, surface, &mut minutes);
        self.carry_out(&approval, &mut minutes);
        (Answer::Told("i do that now.".to_owned()), minutes.effects())
    }

    /// XB-12 to XB-15: shows the result of a button action and leaves a pending update for main.
    /// Returns `None` if the call was not made by a button.
    pub(super) fn chore_done(
        &mut self,
        id: ApprovalId,
        result: &ToolResult,
        minutes: &mut Minutes,
    ) -> Option<()> {
        let closed = self.memory.approvals.closed.iter().rfind(|closed| closed.id == id)?;
        let chore = Chore::of(&closed.call)?;
        if result.outcome != Outcome::Done {
            let why = result.text.trim_start_matches("Error: ");
            minutes.shown.push(Shown::Notice(format!("that did not work: {why}")));
            return Some(());
        }
        let title = title(&result.text).unwrap_or_else(|| "(no title)".to_owned());
        minutes.shown.push(Shown::Notice(chore.confirmed(&title)));
        self.report("button", result.label, chore.told(&title), minutes);
        Some(())
    }
}

/// Returns the first JSON title in `text`.
fn title(text: &str) -> Option<String> {
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
    fn a_title_is_found_whatever_is_in_it() {
        let check =
            |text: &str, expected: Option<&str>| assert_eq!(title(text).as_deref(), expected, "{text}");
        check(r#"{"task":{"id":"a","title":"buy \"milk\" \\","due":null}}"#, Some(r#"buy "milk" \"#));
        check("{\n \"event\": {\n \"title\": \"x\"}}", Some("x"));
        check("completed a", None);
        check("{\"title\":\"x", None);
        check("{\"title\":3}", None);
    }
}
