//! Explains one occurrence of a job: its runs, pings, refusals and end.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::{DecidedCall, Explanation, QUOTED, took};
use crate::attention::Held;
use crate::card::{Card, State};
use crate::conversation::EntryId;
use crate::cost::{Source, Total, short};
use crate::occurrence::{End, Occurrence, Stage};
use crate::record::Charge;
use crate::schedule::Lateness;

/// The facts about one occurrence of a job, or about a run that was started manually.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    pub source: Source,
    /// The occurrence, and the time when it was handled.
    pub due: Option<(Occurrence, Timestamp)>,
    pub turns: Vec<Explanation>,
    /// Its messages to the user, oldest first.
    pub pings: Vec<Ping>,
    /// The refused calls with the reply to each.
    pub refused: Vec<(String, String)>,
    /// Its deferred messages, oldest first, each with the time of its digest.
    pub held: Vec<(Held, Option<Timestamp>)>,
    /// The card of the reminder.
    pub card: Option<Card>,
}

/// A message that was shown to the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Ping {
    /// The entry that contains it; its id is the shown number.
    pub entry: EntryId,
    pub text: String,
    /// The charge; `None` if the message took no ping.
    pub charge: Option<Charge>,
}

impl Work {
    /// Returns the explanation as text, with times in `zone`.
    pub fn tell(&self, zone: &TimeZone) -> String {
        let mut lines = vec![self.trigger(zone)];
        lines.extend(self.gates());
        lines.extend(self.used());
        lines.extend(self.refused.iter().map(|(tool, why)| format!("refused: {tool}: {why}")));
        lines.extend(self.pings.iter().map(Ping::tell));
        lines.extend(
            self.card.as_ref().map(|card| format!("it rang on {}: {}.", time(card.rang, zone), state(card))),
        );
        lines.extend(self.silence().map(|why| format!("it did not reach you: {why}.")));
        lines.push(self.ended(zone));
        lines.join("\n")
    }

    /// Returns one line for a list.
    pub fn line(&self, zone: &TimeZone) -> String {
        let Some((occurrence, began)) = &self.due else {
            return format!("{} was begun by hand", self.source);
        };
        let due = time(occurrence.key.due, zone);
        let reached = match (self.silence(), &self.card, self.held.is_empty()) {
            (Some(why), _, true) => format!("silent: {why}"),
            (Some(why), _, false) => why,
            (None, Some(card), _) => format!("rang: {}", state(card)),
            (None, None, _) => {
                let ping = |ping: &Ping| format!("ping {}", ping.entry.0);
                self.pings.iter().map(ping).collect::<Vec<_>>().join(", ")
            }
        };
        let how = match &occurrence.stage {
            Stage::Ended(end) => end.as_str(),
            Stage::Running(_) | Stage::Asked(_) => "goes on",
            Stage::Again(_) => "tried again",
            Stage::Queued => "waits",
        };
        format!("- {due}  {how:<9}  {}  {reached}", lateness(occurrence, *began))
    }

    /// Returns why the user was not interrupted; `None` if they were.
    pub fn silence(&self) -> Option<String> {
        if !self.pings.is_empty() || self.card.is_some() {
            return None;
        }
        if let Some((held, told)) = self.held.last() {
            let why = held.why.tell();
            let id = held.id.0;
            return Some(match told {
                None => format!("held as held:{id} until the next digest, since {why}"),
                Some(_) => format!("held as held:{id} and told in a digest, since {why}"),
            });
        }
        let Some((occurrence, _)) = &self.due else { return Some(self.quiet()) };
        Some(match &occurrence.stage {
            Stage::Running(_) | Stage::Asked(_) => "it is still being done".to_owned(),
            Stage::Again(_) if occurrence.tries == 0 => "it is about to begin".to_owned(),
            Stage::Again(_) => "it failed, and is tried again".to_owned(),
            Stage::Queued if is_brought(occurrence) => BROUGHT.to_owned(),
            Stage::Queued => "it waits for the one before it".to_owned(),
            Stage::Ended(End::Done(_)) => self.quiet(),
            Stage::Ended(end) => end.why().trim_end_matches('.').to_owned(),
        })
    }

    /// Returns whether it produced a message. Messages without a model do not count as tries.
    fn reached_out(&self) -> bool {
        !self.pings.is_empty() || !self.held.is_empty() || self.card.is_some()
    }

    /// Returns the total of the calls of all turns.
    pub fn total(&self) -> Total {
        let mut total = Total::default();
        let calls = self.turns.iter().flat_map(|turn| &turn.calls);
        calls.for_each(|spent| total.add(spent));
        total
    }

    fn quiet(&self) -> String {
        let on_main = self.due.as_ref().is_some_and(|(occurrence, _)| {
            occurrence.tries > 0
                && self.turns.iter().any(|turn| turn.branch == crate::conversation::Branch::Main)
                || matches!(&occurrence.stage, Stage::Ended(end) if end.is_as_written())
        });
        match (on_main, self.refused.last()) {
            (true, _) => "it spoke in our main conversation, which takes no ping".to_owned(),
            (false, Some((tool, _))) => format!("`{tool}` was refused"),
            (false, None) => "it asked for no ping".to_owned(),
        }
    }

    fn trigger(&self, zone: &TimeZone) -> String {
        let Some((occurrence, began)) = &self.due else {
            return format!("{} was begun by hand; no clock set it off.", self.source);
        };
        let due = time(occurrence.key.due, zone);
        let tries = match occurrence.tries {
            0 if !self.reached_out() => ", and was never begun".to_owned(),
            0 | 1 => format!(", and was begun {}", lateness(occurrence, *began)),
            tries => format!(", was begun {}, and tried {tries} times", lateness(occurrence, *began)),
        };
        format!("{} ({}) was due on {due}{tries}.", self.source, occurrence.name)
    }

    fn gates(&self) -> Option<String> {
        let tools = self.turns.iter().flat_map(|turn| &turn.tools);
        let named: Vec<String> = tools.map(DecidedCall::tell).collect();
        (!named.is_empty()).then(|| format!("tools, and the rule that decided: {}.", named.join(", ")))
    }

    fn used(&self) -> Option<String> {
        let total = self.total();
        let models: std::collections::BTreeSet<&str> =
            self.turns.iter().flat_map(|turn| &turn.calls).map(|spent| spent.call.model.as_str()).collect();
        let names = models.into_iter().collect::<Vec<_>>().join(", ");
        let read = short(total.usage.read());
        let written = short(total.usage.output);
        let money = if total.unpriced == 0 {
            format!("it cost {}", total.cost)
        } else {
            "its price is not known".to_owned()
        };
        (total.calls > 0).then(|| {
            format!("{} calls of {names}: {read} tokens read, {written} written; {money}.", total.calls)
        })
    }

    fn ended(&self, zone: &TimeZone) -> String {
        let Some((occurrence, began)) = &self.due else {
            return self.turns.last().map_or_else(|| "it still goes on.".to_owned(), Explanation::ended);
        };
        let after = took(occurrence.since.duration_since(*began));
        match &occurrence.stage {
            Stage::Running(branch) => format!("it goes on in {branch}."),
            Stage::Asked(_) => {
                "it waits for its turn in our main conversation, or is being answered there.".to_owned()
            }
            Stage::Again(at) if occurrence.tries == 0 => {
                format!("it has not begun yet, and is tried on {} at the latest.", time(*at, zone))
            }
            Stage::Again(at) => format!("it failed, and is tried again on {}.", time(*at, zone)),
            Stage::Queued if is_brought(occurrence) => format!("{BROUGHT}."),
            Stage::Queued => "it waits until the one before it has ended.".to_owned(),
            Stage::Ended(End::Missed { last, count, why }) if *count > 1 => {
                format!("it was missed {count} times, up to {}: {why}.", time(*last, zone))
            }
            Stage::Ended(end) if end.why().is_empty() => format!("it was {} after {after}.", word(end)),
            Stage::Ended(end) => {
                format!("it was {} after {after}: {}.", word(end), end.why().trim_end_matches('.'))
            }
        }
    }
}

/// The state of a queued webhook delivery.
const BROUGHT: &str = "it waits for its turn, or for tomorrow if today's limit is used up";

fn is_brought(occurrence: &Occurrence) -> bool {
    matches!(occurrence.key.source, Source::Webhook(_))
}

/// Returns the outcome of a reminder's card.
fn state(card: &Card) -> &'static str {
    match card.state {
        State::Open => "it is open",
        State::Done(_) => "you did it",
        State::Moved(..) | State::Planned(_) => "you moved it",
        State::Dropped => "you dropped it",
    }
}

fn word(end: &End) -> &'static str {
    match end {
        End::Done(_) => "done",
        End::Failed(_) => "given up",
        End::Missed { .. } => "missed",
        End::Skipped(_) => "left out",
        End::Cancelled(_) => "cancelled",
    }
}

impl Ping {
    fn tell(&self) -> String {
        let words = self.text.trim().replace('\n', " ");
        let quoted = match words.char_indices().nth(QUOTED) {
            Some((end, _)) => format!("{}…", &words[..end]),
            None => words,
        };
        let charge = match &self.charge {
            Some(charge) if charge.before > charge.after => {
                format!(": {:.2} pings were left before, {:.2} after", charge.before, charge.after)
            }
            Some(charge) => format!(": critical, so it took none of the {:.2} pings", charge.before),
            None => String::new(),
        };
        format!("ping {} (\"{quoted}\"){charge}.", self.entry.0)
    }
}

fn lateness(occurrence: &Occurrence, began: Timestamp) -> String {
    let late = began.duration_since(occurrence.key.due);
    match (occurrence.lateness, late.as_secs()) {
        (Lateness::OnTime, ..1) => "on time".to_owned(),
        (Lateness::OnTime | Lateness::Late, _) => {
            format!("{} late", took(late.max(SignedDuration::ZERO)))
        }
    }
}

fn time(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d at %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occurrence::Key;

    /// A webhook message without a model counts as begun, although it has no tries.
    #[test]
    fn what_went_out_as_it_came_was_begun() {
        let source = Source::Webhook("build".to_owned());
        let due = Timestamp::constant(1_794_700_000, 0);
        let stage = Stage::Ended(End::Done(String::new()));
        let key = Key { source: source.clone(), due };
        let name = "build".to_owned();
        let words = String::new();
        let lateness = Lateness::OnTime;
        let occurrence = Occurrence { key, name, words, lateness, tries: 0, stage, since: due, shown: false };
        let ping = Ping { entry: EntryId(3), text: "it failed".to_owned(), charge: None };
        let due = Some((occurrence, due));
        let turns = Vec::new();
        let refused = Vec::new();
        let held = Vec::new();
        let mut work = Work { source, due, turns, pings: vec![ping], refused, held, card: None };
        assert!(
            work.tell(&TimeZone::UTC).contains("and was begun on time."),
            "{}",
            work.tell(&TimeZone::UTC)
        );
        work.pings.clear();
        assert!(work.tell(&TimeZone::UTC).contains("and was never begun."), "{}", work.tell(&TimeZone::UTC));
    }
}
