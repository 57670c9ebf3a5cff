//! Markup of times and names: Discord timestamps, which each reader sees in their own zone, and
//! escaped names.

use domain::assistant::Plans;
use domain::cost::CostSource;
use domain::schedule::{JobSpec, Plan};
use jiff::Timestamp;

/// Returns the time of day and the relative time.
pub(super) fn time_tag(when: Timestamp) -> String {
    let second = when.as_second();
    format!("<t:{second}:t> · <t:{second}:R>")
}

/// Returns the date, the time of day and the relative time.
pub(super) fn date_tag(when: Timestamp) -> String {
    let second = when.as_second();
    format!("<t:{second}:f> · <t:{second}:R>")
}

/// Escapes markup and breaks links.
pub(super) fn escape(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for letter in name.replace("://", ":\u{200b}//").chars() {
        if matches!(letter, '*' | '_' | '~' | '`' | '|' | '\\' | '<' | '>' | '#' | '[') {
            plain.push('\\');
        }
        plain.push(letter);
    }
    plain
}

pub(super) fn plan_name(plan: &Plan) -> String {
    escape(&plan.job.display_name())
}

/// Describes the plans as stored: `✓ call mum · (time) · (distance)`.
pub(super) fn plan_lines(plans: &Plans, sources: &[CostSource]) -> String {
    let line = |source: &CostSource| {
        let plan = plans.agenda.get(source)?;
        let when = match (&plan.job.spec, plan.next) {
            (JobSpec::Reminder(_), Some(next)) => date_tag(next),
            (JobSpec::Routine(routine), Some(next)) => {
                format!("{} · next {}", routine.recurrence.describe(), date_tag(next))
            }
            (_, None) => "rests".to_owned(),
        };
        Some(format!("✓ {} · {when}", plan_name(plan)))
    };
    sources.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

/// Truncates `text` to `limit` characters.
pub(super) fn truncate(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => text.chars().take(limit.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        assert_eq!(escape("call *mum* <@1>"), "call \\*mum\\* \\<@1\\>");
        assert!(!escape("read https://evil.test/x").contains("https://"));
    }

    #[test]
    fn a_text_is_cut_by_characters() {
        assert_eq!(truncate("éé", 2), "éé");
        assert_eq!(truncate("ééé", 2), "é…");
    }

    #[test]
    fn a_time_is_shown_absolute_and_relative() {
        let at: Timestamp = "2026-11-16T10:00Z".parse().unwrap();
        assert_eq!(time_tag(at), "<t:1794823200:t> · <t:1794823200:R>");
    }
}
