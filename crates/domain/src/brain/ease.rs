//! Requests for fewer interruptions: focus, quiet hours, a lighter day, and the list of deferred
//! items.

use jiff::Zoned;

use super::{Meant, Said, strip};
use crate::attention::{Ease, Quiet};
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
const HELD: [&str; 4] = ["held", "/held", "what did you hold", "what is held"];

/// Parses a request for fewer interruptions.
pub(super) fn read(said: &Said<'_>, now: &Zoned, habits: &Habits) -> Option<Meant> {
    let ease = if said.is(&LIGHTER) {
        Ease::Lighter
    } else if said.is(&HELD) {
        Ease::Held
    } else {
        focus(said, now, habits).or_else(|| quiet(said))?
    };
    Some(Meant::Ease(ease))
}

/// `focus`, `focus 25`, `focus 25 on taxes`; with a time it is something to do at that time
/// instead.
fn focus(said: &Said<'_>, now: &Zoned, habits: &Habits) -> Option<Ease> {
    if said.is(&["focus", "/focus"]) {
        return Ease::focus("").ok();
    }
    let rest = said.after_any(&["focus for ", "focus "])?;
    if rest == "off" {
        return Some(Ease::Unfocus);
    }
    let (number, after) =
        rest.split_at(rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len()));
    let units = ["minutes", "mins", "min", "m"];
    let after = after.trim_start();
    let after = units.iter().find_map(|unit| strip(after, unit)).unwrap_or(after);
    let timed = phrase::read(after, now, habits).when.is_some();
    (!number.is_empty() && !timed).then(|| Ease::focus(&format!("{number} {}", after.trim())).ok())?
}

/// `quiet for 2h`, `be quiet for an hour`, `quiet 23-7`, `quiet hours 23-7`, `quiet off`.
fn quiet(said: &Said<'_>) -> Option<Ease> {
    if let Some(rest) = said.after_any(&["quiet for ", "be quiet for ", "please be quiet for "]) {
        return Ease::quiet(&format!("for {rest}")).ok();
    }
    let hours = said.after_any(&["quiet hours ", "quiet "])?;
    Quiet::read(hours.trim()).map(Ease::Hours)
}
