//! Requests for fewer interruptions: focus, quiet hours, a lighter day, and the list of deferred
//! items.

use jiff::Zoned;

use super::{Intent, Sentence, strip_prefix_ignore_case};
use crate::attention::{QuietCommand, QuietHours};
use crate::phrase::{self, Habits};

const LIGHTER: [&str; 11] = [
    "lighter",
    "/lighter",
    "lighter day",
    "a lighter day",
    "bad day",
    "bad day today",
    "i have a bad day",
    "i'm having a bad day",
    "i am having a bad day",
    "today is a bad day",
    "make today lighter",
];
const LIST_DEFERRED: [&str; 4] = ["held", "/held", "what did you hold", "what is held"];

/// Parses a request for fewer interruptions.
pub(super) fn parse(said: &Sentence<'_>, now: &Zoned, habits: &Habits) -> Option<Intent> {
    let ease = if said.is(&LIGHTER) {
        QuietCommand::Lighter
    } else if said.is(&LIST_DEFERRED) {
        QuietCommand::Held
    } else {
        focus(said, now, habits).or_else(|| quiet(said))?
    };
    Some(Intent::Quiet(ease))
}

/// `focus`, `focus 25`, `focus 25 on taxes`; with a time it is something to do at that time
/// instead.
fn focus(said: &Sentence<'_>, now: &Zoned, habits: &Habits) -> Option<QuietCommand> {
    if said.is(&["focus", "/focus"]) {
        return QuietCommand::parse_focus("").ok();
    }
    let rest = said.after_any(&["focus for ", "focus "])?;
    if rest == "off" {
        return Some(QuietCommand::Unfocus);
    }
    let (number, after) =
        rest.split_at(rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len()));
    let units = ["minutes", "mins", "min", "m"];
    let after = after.trim_start();
    let after = units.iter().find_map(|unit| strip_prefix_ignore_case(after, unit)).unwrap_or(after);
    let timed = phrase::parse(after, now, habits).when.is_some();
    (!number.is_empty() && !timed)
        .then(|| QuietCommand::parse_focus(&format!("{number} {}", after.trim())).ok())?
}

/// `quiet for 2h`, `be quiet for an hour`, `quiet 23-7`, `quiet hours 23-7`, `quiet off`.
fn quiet(said: &Sentence<'_>) -> Option<QuietCommand> {
    if let Some(rest) = said.after_any(&["quiet for ", "be quiet for ", "please be quiet for "]) {
        return QuietCommand::parse_quiet(&format!("for {rest}")).ok();
    }
    let hours = said.after_any(&["quiet hours ", "quiet "])?;
    QuietHours::parse(hours.trim()).map(QuietCommand::Hours)
}
