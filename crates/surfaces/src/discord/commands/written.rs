//! Markup of times and names: Discord timestamps, which each reader sees in their own zone, and
//! escaped names.

use domain::assistant::Plans;
use domain::cost::Source;
use domain::schedule::{Plan, What};
use jiff::Timestamp;

/// Returns the time of day and the relative time.
pub(super) fn clock(when: Timestamp) -> String {
    let second = when.as_second();
    format!("<t:{second}:t> · <t:{second}:R>")
}

/// Returns the date, the time of day and the relative time.
pub(super) fn date(when: Timestamp) -> String {
    let second = when.as_second();
    format!("<t:{second}:f> · <t:{second}:R>")
}

/// Escapes markup and breaks links.
pub(super) fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for letter in name.replace("://", ":\u{200b}//").chars() {
        if matches!(letter, '*' | '_' | '~' | '`' | '|' | '\\' | '<' | '>' | '#' | '[') {
            plain.push('\\');
        }
        plain.push(letter);
    }
    plain
}

pub(super) fn name(plan: &Plan) -> String {
    plain(&plan.planned.name())
}

/// Describes the plans as stored: `✓ call mum · (time) · (distance)`.
pub(super) fn planned(plans: &Plans, sources: &[Source]) -> String {
    let line = |source: &Source| {
        let plan = plans.agenda.get(source)?;
        let when = match (&plan.planned.what, plan.next) {
            (What::Reminder(_), Some(next)) => date(next),
            (What::Routine(routine), Some(next)) => {
                format!("{} · next {}", routine.rhythm.tell(), date(next))
            }
            (_, None) => "rests".to_owned(),
        };
        Some(format!("✓ {} · {when}", name(plan)))
    };
    sources.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

/// Truncates `text` to `limit` characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_only_a_name() {
        assert_eq!(plain("call *mum* <@1>"), "call \\*mum\\* \\<@1\\>");
        assert!(!plain("read https://evil.test/x").contains("https://"));
    }

    #[test]
    fn a_text_is_cut_by_characters() {
        assert_eq!(cut("éé", 2), "éé");
        assert_eq!(cut("ééé", 2), "é…");
    }

    #[test]
    fn a_time_is_told_twice() {
        let at: Timestamp = "2026-11-16T10:00Z".parse().unwrap();
        assert_eq!(clock(at), "<t:1794823200:t> · <t:1794823200:R>");
    }
}
