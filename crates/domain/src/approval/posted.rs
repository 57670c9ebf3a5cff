//! Renders approvals as messages. The whole call is shown unambiguously, together with the possible
//! answers.

use super::{Approval, Closed, Verdict};
use crate::embed::{Action, Button, Style};
use crate::hidden::spelled_out;
use crate::post::{PostChange, PostKey, Sheet};

/// I5: Renders the whole call with three answer buttons.
pub(crate) fn question(approval: &Approval) -> Sheet {
    let button = |label: &str, style, verdict| {
        let label = label.to_owned();
        let action = Action::Answer(approval.id, verdict);
        Button { label, style, action }
    };
    let buttons = vec![
        button("Yes", Style::Success, Verdict::Allow),
        button("Yes, always", Style::Secondary, Verdict::Always),
        button("No", Style::Danger, Verdict::Deny),
    ];
    let caption = plainly(&approval.caption());
    let input = exactly(&approval.call.input.0);
    let words = format!("may i run {caption}?\n```json\n{input}\n```");
    Sheet {
        words,
        buttons,
        foot: format!("number {} · {}", approval.id.0, approval.always()),
        ..Sheet::default()
    }
}

/// I5: Renders all calls of one step on one card, each whole, with buttons for all of them and for
/// single ones.
pub(crate) fn question_of(approvals: &[Approval]) -> Sheet {
    let [first, _, ..] = approvals else {
        return approvals.first().map(question).unwrap_or_default();
    };
    let all = |label: &str, style, verdict| {
        let label = label.to_owned();
        let action = Action::AnswerStep(first.step, verdict);
        Button { label, style, action }
    };
    let mut buttons = vec![
        all("Yes to all", Style::Success, Verdict::Allow),
        all("No to all", Style::Danger, Verdict::Deny),
    ];
    let alone = |approval: &Approval| {
        let label = format!("Yes to {}", approval.id.0);
        Button { label, style: Style::Secondary, action: Action::Answer(approval.id, Verdict::Allow) }
    };
    buttons.extend(approvals.iter().take(SINGLE).map(alone));
    let call = |approval: &Approval| {
        let caption = plainly(&approval.caption());
        let input = exactly(&approval.call.input.0);
        format!("{}. {caption}\n```json\n{input}\n```", approval.id.0)
    };
    let calls: Vec<String> = approvals.iter().map(call).collect();
    Sheet {
        words: format!("may i run these {}?\n{}", approvals.len(), calls.join("\n")),
        buttons,
        foot: format!("`/allow {}` and `/deny {}` answer one alone", first.id.0, first.id.0),
        ..Sheet::default()
    }
}

/// The number of calls on a card that have a button of their own.
const SINGLE: usize = 3;

/// Returns the edit that shows the answer. The open approvals of the same card, `left`, are still
/// asked for.
pub(crate) fn answered(approval: &Approval, closed: &Closed, left: &[Approval]) -> PostChange {
    let words = format!("{}: {}", plainly(&approval.caption()), closed.how.as_str());
    let sheet = if left.is_empty() {
        Sheet::small(&words)
    } else {
        let rest = question_of(left);
        Sheet { words: format!("{words}\n{}", rest.words), ..rest }
    };
    PostChange::Says(PostKey::approval(approval.step), sheet)
}

/// I5: Returns equivalent JSON without hidden characters and without characters that end the code
/// block or reverse the text direction.
fn exactly(json: &str) -> String {
    // Line breaks and tabs are invalid inside a JSON string, so they only occur between tokens.
    spelled_out(json, |c| c == '`' || (c.is_control() && !matches!(c, '\n' | '\r' | '\t')))
}

/// Returns the text in one line without hidden characters and with Markdown escaped.
fn plainly(text: &str) -> String {
    let marked = |c: char| "`*_~|<>@#[]".contains(c);
    spelled_out(text, char::is_control)
        .chars()
        .flat_map(|c| marked(c).then_some('\\').into_iter().chain([c]))
        .collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::{ApprovalId, Waits};
    use super::*;
    use crate::conversation::{Branch, Json};
    use crate::hidden::is_hidden;
    use crate::tool::ToolCall;
    use crate::turn::TurnId;

    /// Returns the question for a Bash call with `input`.
    fn asked(input: &str) -> String {
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
            knows: crate::label::Label::PLAIN,
            waits: Waits::Turn,
        });
        sheet.words
    }

    /// I5: A disguised call is spelled out on its card.
    #[test]
    fn a_disguised_call_is_seen_through() {
        let check = |command: &str, expected: &str| {
            let words = asked(&format!("{{\"command\":\"{command}\"}}"));
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
    fn no_sign_on_a_card_is_hidden() {
        let hidden: String = ('\0'..=char::MAX).filter(|c| is_hidden(*c)).collect();
        let words = asked(&format!("{{\"command\":\"ls\",\"description\":\"{hidden}```\"}}"));
        assert_eq!(words.chars().find(|c| is_hidden(*c)), None);
        assert_eq!(words.matches("```").count(), 2, "nothing in it ends the block");
    }
}
