//! Search by name: finds the plan, fired reminder or inbox item that the user refers to.

use jiff::{SignedDuration, Timestamp, Zoned};

use super::Assistant;
use crate::inbox::{InboxItem, InboxItemId};
use crate::intent::ItemRef;
pub(super) use crate::schedule::begins_words;
use crate::schedule::{JobSpec, Plan, PlannedJob};

/// Most names listed when several items match.
const MAX_MATCHES: usize = 5;
/// Most names suggested when nothing matches.
const MAX_SUGGESTIONS: usize = 3;
/// How long a fired reminder or a new inbox item is meant by `it`.
const RECENT: SignedDuration = SignedDuration::from_hours(2);

pub(super) const WHICH_ONE: &str = "say which one, like `done dentist`; `week` lists what is planned.";

/// An item that the user refers to.
pub(super) enum FoundItem {
    Plan(Box<Plan>),
    /// A reminder that fired recently.
    Fired(Box<JobSpec>),
    /// An inbox item.
    Inbox(InboxItem),
}

impl Assistant {
    /// Returns the item meant by `which`, or an error text if none or several match.
    pub(super) fn find_item(&self, which: &ItemRef, now: &Zoned) -> Result<FoundItem, String> {
        match which {
            ItemRef::Current => self.recent_item(now).ok_or_else(|| WHICH_ONE.to_owned()),
            ItemRef::LastRung => {
                self.last_fired(now).ok_or_else(|| format!("nothing rang in the last two hours. {WHICH_ONE}"))
            }
            ItemRef::InboxItem(id) => self.inbox_item(*id).map(FoundItem::Inbox),
            ItemRef::Named(words) => self.find_by_name(words, now),
        }
    }

    /// Returns true if `which` refers to a known item.
    pub(super) fn is_known_item(&self, which: &ItemRef, now: &Zoned) -> bool {
        match which {
            ItemRef::Current => self.recent_item(now).is_some(),
            ItemRef::LastRung => self.last_fired(now).is_some(),
            ItemRef::InboxItem(_) => true,
            ItemRef::Named(words) => {
                self.find_by_name(words, now).is_ok()
                    || self.state.plans.agenda.plans().any(|(_, plan)| is_named(plan, words))
                    || self.state.inbox.items.iter().any(|kept| begins_words(&kept.text, words))
            }
        }
    }

    /// Returns the item meant by `it`: the newest fired reminder or inbox item, if recent.
    fn recent_item(&self, now: &Zoned) -> Option<FoundItem> {
        let kept = self.state.inbox.items.last().filter(|kept| is_recent(kept.at, now));
        let later = |kept: &&InboxItem| {
            self.state
                .plans
                .last_finished
                .as_ref()
                .is_none_or(|(_, rang)| kept.at > *rang || !is_recent(*rang, now))
        };
        kept.filter(later).cloned().map(FoundItem::Inbox).or_else(|| self.last_fired(now))
    }

    /// Returns the last fired reminder, if recent.
    fn last_fired(&self, now: &Zoned) -> Option<FoundItem> {
        let rang = self.state.plans.last_finished.as_ref().filter(|(_, at)| is_recent(*at, now));
        rang.map(|(what, _)| FoundItem::Fired(Box::new(what.clone())))
    }

    /// Returns the inbox item `id`.
    pub(super) fn inbox_item(&self, id: InboxItemId) -> Result<InboxItem, String> {
        let found = self.state.inbox.items.iter().find(|kept| kept.id == id).cloned();
        found.ok_or_else(|| format!("there is no {} in the inbox. `inbox` tells the numbers.", id.0))
    }

    fn find_by_name(&self, words: &str, now: &Zoned) -> Result<FoundItem, String> {
        // A fired reminder with an open card takes precedence over upcoming plans.
        if let Some(FoundItem::Fired(what)) = self.recent_item(now).filter(|it| it.is_fired_named(words))
            && self.open_card(&what).is_some()
        {
            return Ok(FoundItem::Fired(what));
        }
        let all = || self.state.plans.agenda.plans().map(|(_, plan)| plan);
        // An exact id takes precedence over names.
        let plans: Vec<&Plan> = match all().find(|plan| plan.job.id().as_str() == words) {
            Some(plan) => vec![plan],
            None => all().filter(|plan| is_named(plan, words)).collect(),
        };
        match plans.as_slice() {
            [one] => return Ok(FoundItem::Plan(Box::new((*one).clone()))),
            [] => {}
            several => {
                let name = |plan: &&Plan| format!("- {} ({})", plan.job.display_name(), plan.job.id());
                return Err(ambiguous_names(several.iter().map(name)));
            }
        }
        if let Some(FoundItem::Fired(what)) = self.recent_item(now).filter(|it| it.is_fired_named(words)) {
            return Ok(FoundItem::Fired(what));
        }
        let kept = self.state.inbox.items.iter().filter(|kept| begins_words(&kept.text, words));
        match kept.collect::<Vec<_>>().as_slice() {
            [one] => Ok(FoundItem::Inbox((*one).clone())),
            [] => Err(self.unknown_name(words)),
            several => Err(ambiguous_names(several.iter().map(|kept| {
                format!("- inbox:{} {}", kept.id.0, kept.text.chars().take(60).collect::<String>())
            }))),
        }
    }

    /// Returns the error text for an unknown name, with similar names.
    fn unknown_name(&self, words: &str) -> String {
        let planned = self.state.plans.agenda.plans().map(|(_, plan)| plan.job.display_name());
        let kept = self.state.inbox.items.iter().map(|kept| kept.text.clone());
        let near: Vec<String> =
            planned.chain(kept).filter(|name| is_similar_name(name, words)).take(MAX_SUGGESTIONS).collect();
        let nothing = format!("nothing planned is called `{words}`.");
        if near.is_empty() {
            format!("{nothing} `week` lists what is.")
        } else {
            format!("{nothing} did you mean: {}?", near.join(", "))
        }
    }
}

impl FoundItem {
    fn is_fired_named(&self, words: &str) -> bool {
        matches!(self, Self::Fired(what) if begins_words(&display_name(what), words))
    }
}

fn is_recent(at: Timestamp, now: &Zoned) -> bool {
    now.timestamp().duration_since(at) <= RECENT
}

fn ambiguous_names(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.take(MAX_MATCHES).collect();
    format!("that could be any of these; say which, or its id:\n{}", names.join("\n"))
}

/// Returns true if each of `words` is the prefix of a word in the plan's name, or they are a prefix
/// of its id.
pub(super) fn is_named(plan: &Plan, words: &str) -> bool {
    plan.job.is_called(words)
}

/// Returns true if a word of `name` is similar to one of `words`.
fn is_similar_name(name: &str, words: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        text.to_lowercase().split(|letter: char| !letter.is_alphanumeric()).map(str::to_owned).collect()
    };
    let name = parts(name);
    parts(words).iter().any(|word| name.iter().any(|part| is_similar_word(word, part)))
}

/// Returns true if the edit distance is at most two, or one for short words.
fn is_similar_word(one: &str, other: &str) -> bool {
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
pub(super) fn display_name(what: &JobSpec) -> String {
    PlannedJob { spec: what.clone(), file: String::new() }.display_name()
}
