//! An approval as it is posted: the whole call in words that can be mistaken for no other, and what each answer means.

use super::{Approval, Closed, Verdict};
use crate::embed::{Action, Button, Style};
use crate::post::{PostChange, PostKey, Sheet};

/// I5: the whole call, and the three answers.
pub(crate) fn question(approval: &Approval) -> Sheet {
    let button = |label: &str, style, verdict| {
        let (label, action) = (label.to_owned(), Action::Answer(approval.id, verdict));
        Button { label, style, action }
    };
    let buttons = vec![
        button("Yes", Style::Success, Verdict::Allow),
        button("Yes, always", Style::Secondary, Verdict::Always),
        button("No", Style::Danger, Verdict::Deny),
    ];
    let (caption, input) = (plainly(&approval.caption()), exactly(&approval.call.input.0));
    let words = format!("may i run {caption}?\n```json\n{input}\n```");
    Sheet {
        words,
        buttons,
        foot: format!("number {} · {}", approval.id.0, approval.always()),
        ..Sheet::default()
    }
}

/// What was asked says how it was answered.
pub(crate) fn answered(approval: &Approval, closed: &Closed) -> PostChange {
    let words = format!("{}: {}", plainly(&approval.caption()), closed.how.as_str());
    PostChange::Says(PostKey::approval(approval.id), Sheet::small(&words))
}

/// I5: JSON that means the same, in which nothing can end the block it stands in or turn the letters around.
fn exactly(json: &str) -> String {
    let escaped = |c: char| match c {
        '`' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {
            format!("\\u{:04x}", u32::from(c))
        }
        c => c.to_string(),
    };
    json.chars().map(escaped).collect()
}

/// Words in which nothing is read as more than itself.
fn plainly(text: &str) -> String {
    let plain = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    let marked = |c: char| "`*_~|<>@#[]".contains(c);
    text.chars()
        .filter(|c| plain(*c))
        .flat_map(|c| marked(c).then_some('\\').into_iter().chain([c]))
        .collect()
}
