//! Tables of phrases and their interpretation.

use expect_test::Expect;

mod description;
mod meaning;
mod notations;
mod properties;
mod rules;

use super::*;

pub(crate) fn now() -> Zoned {
    "2026-11-15T14:33[Europe/Berlin]".parse().unwrap()
}

pub(crate) fn format_timing(when: &Timing) -> String {
    let day = |at: &Zoned| at.strftime("%a %-d %b %Y %H:%M").to_string();
    match when {
        Timing::Once(at) if at.time_zone() != now().time_zone() => format!("{} {at}", day(at)),
        Timing::Once(at) => day(at),
        Timing::Lead { leave, at } => format!("{} + {}", leave.strftime("%H:%M"), day(at)),
        Timing::Recurring(RecurrenceSpec { rule: beat, from, until, zone, location: home }) => {
            let mut told = match beat {
                RuleSpec::Cron(fields) => fields.clone(),
                RuleSpec::Days { every, from } => {
                    format!("every {every} d from {}", from.strftime("%a %-d %b %H:%M"))
                }
                RuleSpec::Monthly { day, at } => format!("monthly {day:?} {}", at.strftime("%H:%M")),
            };
            told += &from.map(|date| format!(" from {date}")).unwrap_or_default();
            told += &until.map(|date| format!(" until {date}")).unwrap_or_default();
            told += &zone.as_ref().map(|zone| format!(" {zone}")).unwrap_or_default();
            told + if *home == LocationCondition::AtHome { " at home" } else { "" }
        }
        Timing::Cue(cue) => format!("{cue:?}"),
    }
}

/// `text -> subject: timing (or alternative); notes`.
fn row(text: &str, now: &Zoned) -> String {
    let ParsedPhrase { text: what, when, alternative: other, notes } = parse(text, now, &Habits::default());
    let when = when.as_ref().map_or("-".to_owned(), format_timing);
    let other = other.as_ref().map(|other| format!(" (or {})", format_timing(other))).unwrap_or_default();
    let notes: String = notes.iter().map(|note| format!("; {note}")).collect();
    format!("{text} -> {what}: {when}{other}{notes}\n")
}

/// Parses the text before the arrow of every row and compares the result with the whole row.
fn check(rows: &Expect) {
    let texts = rows.data().lines().map(str::trim).filter(|line| !line.is_empty());
    let texts = texts.map(|line| line.split_once(" ->").expect("a row has an arrow"));
    rows.assert_eq(&texts.map(|(text, _)| row(text, &now())).collect::<String>());
}
