//! Renders approvals as messages. The whole call is shown unambiguously, together with the possible
//! answers.

use super::{Approval, ApprovalAnswer, ClosedApproval};
use crate::embed::{Button, ButtonAction, ButtonStyle};
use crate::hidden_chars::escape_hidden;
use crate::outbox::{MessageBody, OutboxChange, OutboxKey};

/// I5: Renders the whole call with three answer buttons.
pub(crate) fn question(approval: &Approval) -> MessageBody {
    let button = |label: &str, style, verdict| {
        let label = label.to_owned();
        let action = ButtonAction::AnswerApproval(approval.id, verdict);
        Button { label, style, action }
    };
    let buttons = vec![
        button("Yes", ButtonStyle::Success, ApprovalAnswer::Allow),
        button("Yes, always", ButtonStyle::Secondary, ApprovalAnswer::Always),
        button("No", ButtonStyle::Danger, ApprovalAnswer::Deny),
    ];
    let caption = escape_markdown(&approval.caption());
    let input = escape_json(&approval.call.input.0);
    let words = format!("may i run {caption}?\n```json\n{input}\n```");
    MessageBody {
        text: words,
        buttons,
        footer: format!("number {} · {}", approval.id.0, approval.always_text()),
        ..MessageBody::default()
    }
}

/// I5: Renders all calls of one step on one card, each whole, with buttons for all of them and for
/// single ones.
pub(crate) fn step_question(approvals: &[Approval]) -> MessageBody {
    let [first, _, ..] = approvals else {
        return approvals.first().map(question).unwrap_or_default();
    };
    let all = |label: &str, style, verdict| {
        let label = label.to_owned();
        let action = ButtonAction::AnswerStep(first.step, verdict);
        Button { label, style, action }
    };
    let mut buttons = vec![
        all("Yes to all", ButtonStyle::Success, ApprovalAnswer::Allow),
        all("No to all", ButtonStyle::Danger, ApprovalAnswer::Deny),
    ];
    let alone = |approval: &Approval| {
        let label = format!("Yes to {}", approval.id.0);
        Button {
            label,
            style: ButtonStyle::Secondary,
            action: ButtonAction::AnswerApproval(approval.id, ApprovalAnswer::Allow),
        }
    };
    buttons.extend(approvals.iter().take(MAX_SINGLE_BUTTONS).map(alone));
    let call = |approval: &Approval| {
        let caption = escape_markdown(&approval.caption());
        let input = escape_json(&approval.call.input.0);
        format!("{}. {caption}\n```json\n{input}\n```", approval.id.0)
    };
    let calls: Vec<String> = approvals.iter().map(call).collect();
    MessageBody {
        text: format!("may i run these {}?\n{}", approvals.len(), calls.join("\n")),
        buttons,
        footer: format!("`/allow {}` and `/deny {}` answer one alone", first.id.0, first.id.0),
        ..MessageBody::default()
    }
}

/// The number of calls on a card that have a button of their own.
const MAX_SINGLE_BUTTONS: usize = 3;

/// Returns the edit that shows the answer. The open approvals of the same card, `left`, are still
/// asked for.
pub(crate) fn answered_post(approval: &Approval, closed: &ClosedApproval, left: &[Approval]) -> OutboxChange {
    let words = format!("{}: {}", escape_markdown(&approval.caption()), closed.outcome.as_str());
    let sheet = if left.is_empty() {
        MessageBody::from_footer(&words)
    } else {
        let rest = step_question(left);
        MessageBody { text: format!("{words}\n{}", rest.text), ..rest }
    };
    OutboxChange::Edited(OutboxKey::approval(approval.step), sheet)
}

/// I5: Returns equivalent JSON without hidden characters and without characters that end the code
/// block or reverse the text direction.
fn escape_json(json: &str) -> String {
    // Line breaks and tabs are invalid inside a JSON string, so they only occur between tokens.
    escape_hidden(json, |c| c == '`' || (c.is_control() && !matches!(c, '\n' | '\r' | '\t')))
}

/// Returns the text in one line without hidden characters and with Markdown escaped.
fn escape_markdown(text: &str) -> String {
    let marked = |c: char| "`*_~|<>@#[]".contains(c);
    escape_hidden(text, char::is_control)
        .chars()
        .flat_map(|c| marked(c).then_some('\\').into_iter().chain([c]))
        .collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::{ApprovalId, Waiter};
    use super::*;
    use crate::conversation::{Branch, Json};
    use crate::hidden_chars::is_hidden;
    use crate::tool::ToolCall;
    use crate::turn::TurnId;

    /// Returns the question for a Bash call with `input`.
    fn question_text(input: &str) -> String {
        let call = ToolCall { id: "c".to_owned(), name: "Bash".to_owned(), input: Json(input.to_owned()) };
        let turn = TurnId(1);
        let branch = Branch::Main;
        let at = Timestamp::UNIX_EPOCH;
        let sheet = question(&Approval {
            id: ApprovalId(1),
            step: ApprovalId(1),
            at,
            turn,
            branch,
            call,
            label: crate::label::Label::PLAIN,
            waiter: Waiter::Turn,
        });
        sheet.text
    }

    /// I5: A disguised call is spelled out on its card.
    #[test]
    fn disguised_call_is_spelled_out() {
        let check = |command: &str, expected: &str| {
            let words = question_text(&format!("{{\"command\":\"{command}\"}}"));
            let (caption, block) = words.split_once('\n').unwrap();
            assert_eq!(caption, format!("may i run Bash({expected})?"));
            assert_eq!(block, format!("```json\n{{\"command\":\"{expected}\"}}\n```"));
        };
        check("ls notes", "ls notes");
        check("cat \u{61c}a-b\u{202e}c", r"cat \u061ca-b\u202ec");
        check("rm no\u{ad}tes\u{34f}/\u{115f}\u{3164}x", r"rm no\u00adtes\u034f/\u115f\u3164x");
        check("ls\u{fe0f}\u{e0072}\u{e006d}\u{e0100}", r"ls\ufe0f\udb40\udc72\udb40\udc6d\udb40\udd00");
        check("ls\u{2028}\u{85}\u{7f}x", r"ls\u2028\u0085\u007fx");
    }

    /// I5: No hidden character appears on a card.
    #[test]
    fn card_shows_no_hidden_characters() {
        let hidden: String = ('\0'..=char::MAX).filter(|c| is_hidden(*c)).collect();
        let words = question_text(&format!("{{\"command\":\"ls\",\"description\":\"{hidden}```\"}}"));
        assert_eq!(words.chars().find(|c| is_hidden(*c)), None);
        assert_eq!(words.matches("```").count(), 2, "nothing in it ends the block");
    }
}
