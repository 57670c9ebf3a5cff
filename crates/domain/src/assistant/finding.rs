//! Search by name: finds the plan, fired reminder or inbox item that the user refers to.

use jiff::{SignedDuration, Timestamp, Zoned};

use super::Assistant;
use crate::brain::Which;
use crate::inbox::{Kept, KeptId};
pub(super) use crate::schedule::begins_words;
use crate::schedule::{Plan, Planned, What};

/// Most names listed when several items match.
const NAMED: usize = 5;
/// Most names suggested when nothing matches.
const NEAR: usize = 3;
/// How long a fired reminder or a new inbox item is meant by `it`.
const IT: SignedDuration = SignedDuration::from_hours(2);

pub(super) const SAY_WHICH: &str = "say which one, like `done dentist`; `week` lists what is planned.";

/// An item that the user refers to.
pub(super) enum Found {
    Plan(Box<Plan>),
    /// A reminder that fired recently.
    Rang(Box<What>),
    /// An inbox item.
    Kept(Kept),
}

impl Assistant {
    /// Returns the item meant by `which`, or an error text if none or several match.
    pub(super) fn find(&self, which: &Which, now: &Zoned) -> Result<Found, String> {
        match which {
            Which::This => self.it(now).ok_or_else(|| SAY_WHICH.to_owned()),
            Which::Rang => {
                self.rang_last(now).ok_or_else(|| format!("nothing rang in the last two hours. {SAY_WHICH}"))
            }
            Which::Kept(id) => self.kept_as(*id).map(Found::Kept),
            Which::Called(words) => self.called(words, now),
        }
    }

    /// Returns true if `which` refers to a known item.
    pub(super) fn knows(&self, which: &Which, now: &Zoned) -> bool {
        match which {
            Which::This => self.it(now).is_some(),
            Which::Rang => self.rang_last(now).is_some(),
            Which::Kept(_) => true,
            Which::Called(words) => {
                self.called(words, now).is_ok()
                    || self.memory.plans.agenda.plans().any(|(_, plan)| is_called(plan, words))
                    || self.memory.inbox.kept.iter().any(|kept| begins_words(&kept.text, words))
            }
        }
    }

    /// Returns the item meant by `it`: the newest fired reminder or inbox item, if recent.
    fn it(&self, now: &Zoned) -> Option<Found> {
        let kept = self.memory.inbox.kept.last().filter(|kept| is_recent(kept.at, now));
        let later = |kept: &&Kept| {
            self.memory.plans.rang.as_ref().is_none_or(|(_, rang)| kept.at > *rang || !is_recent(*rang, now))
        };
        kept.filter(later).cloned().map(Found::Kept).or_else(|| self.rang_last(now))
    }

    /// Returns the last fired reminder, if recent.
    fn rang_last(&self, now: &Zoned) -> Option<Found> {
        let rang = self.memory.plans.rang.as_ref().filter(|(_, at)| is_recent(*at, now));
        rang.map(|(what, _)| Found::Rang(Box::new(what.clone())))
    }

    /// Returns the inbox item `id`.
    pub(super) fn kept_as(&self, id: KeptId) -> Result<Kept, String> {
        let found = self.memory.inbox.kept.iter().find(|kept| kept.id == id).cloned();
        found.ok_or_else(|| format!("there is no {} in the inbox. `inbox` tells the numbers.", id.0))
    }

    fn called(&self, words: &str, now: &Zoned) -> Result<Found, String> {
        // A fired reminder with an open card takes precedence over upcoming plans.
        if let Some(Found::Rang(what)) = self.it(now).filter(|it| it.rang_as(words))
            && self.open_card(&what).is_some()
        {
            return Ok(Found::Rang(what));
        }
        let all = || self.memory.plans.agenda.plans().map(|(_, plan)| plan);
        // An exact id takes precedence over names.
        let plans: Vec<&Plan> = match all().find(|plan| plan.planned.id().as_str() == words) {
            Some(plan) => vec![plan],
            None => all().filter(|plan| is_called(plan, words)).collect(),
        };
        match plans.as_slice() {
            [one] => return Ok(Found::Plan(Box::new((*one).clone()))),
            [] => {}
            several => {
                let name = |plan: &&Plan| format!("- {} ({})", plan.planned.name(), plan.planned.id());
                return Err(which_of(several.iter().map(name)));
            }
        }
        if let Some(Found::Rang(what)) = self.it(now).filter(|it| it.rang_as(words)) {
            return Ok(Found::Rang(what));
        }
        let kept = self.memory.inbox.kept.iter().filter(|kept| begins_words(&kept.text, words));
        match kept.collect::<Vec<_>>().as_slice() {
            [one] => Ok(Found::Kept((*one).clone())),
            [] => Err(self.nothing_called(words)),
            several => Err(which_of(several.iter().map(|kept| {
                format!("- inbox:{} {}", kept.id.0, kept.text.chars().take(60).collect::<String>())
            }))),
        }
    }

    /// Returns the error text for an unknown name, with similar names.
    fn nothing_called(&self, words: &str) -> String {
        let planned = self.memory.plans.agenda.plans().map(|(_, plan)| plan.planned.name());
        let kept = self.memory.inbox.kept.iter().map(|kept| kept.text.clone());
        let near: Vec<String> = planned.chain(kept).filter(|name| is_near(name, words)).take(NEAR).collect();
        let nothing = format!("nothing planned is called `{words}`.");
        if near.is_empty() {
            format!("{nothing} `week` lists what is.")
        } else {
            format!("{nothing} did you mean: {}?", near.join(", "))
        }
    }
}

impl Found {
    fn rang_as(&self, words: &str) -> bool {
        matches!(self, Self::Rang(what) if begins_words(&named(what), words))
    }
}

fn is_recent(at: Timestamp, now: &Zoned) -> bool {
    now.timestamp().duration_since(at) <= IT
}

fn which_of(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.take(NAMED).collect();
    format!("that could be any of these; say which, or its id:\n{}", names.join("\n"))
}

/// Returns true if each of `words` is the prefix of a word in the plan's name, or they are a prefix
/// of its id.
pub(super) fn is_called(plan: &Plan, words: &str) -> bool {
    plan.planned.is_called(words)
}

/// Returns true if a word of `name` is similar to one of `words`.
fn is_near(name: &str, words: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        text.to_lowercase().split(|letter: char| !letter.is_alphanumeric()).map(str::to_owned).collect()
    };
    let name = parts(name);
    parts(words).iter().any(|word| name.iter().any(|part| slips(word, part)))
}

/// Returns true if the edit distance is at most two, or one for short words.
fn slips(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len() < 3 || one.len() > 40 || one.len().abs_diff(other.len()) > 2 {
        return false;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], at + 1);
        for (to, against) in other.iter().enumerate() {
            let changed = corner + usize::from(letter != against);
            corner = row[to + 1];
            row[to + 1] = changed.min(corner + 1).min(row[to] + 1);
        }
    }
    row[other.len()] <= if one.len() > 5 { 2 } else { 1 }
}

/// Returns the display name of a plan.
pub(super) fn named(what: &What) -> String {
    Planned { what: what.clone(), file: String::new() }.name()
}
