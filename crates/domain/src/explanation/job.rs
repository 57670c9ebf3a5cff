//! Explains one occurrence of a job: its runs, pings, refusals and end.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::{DecidedCall, MAX_QUOTED_CHARS, TurnExplanation, format_duration};
use crate::attention::Deferred;
use crate::card::{Card, CardState};
use crate::conversation::EntryId;
use crate::cost::{CostSource, Total, short_count};
use crate::occurrence::{Occurrence, OccurrenceEnd, OccurrenceState};
use crate::record::PingCharge;
use crate::schedule::Lateness;

/// The facts about one occurrence of a job, or about a run that was started manually.
#[derive(Clone, Debug, PartialEq)]
pub struct JobExplanation {
    pub source: CostSource,
    /// The occurrence, and the time when it was handled.
    pub due: Option<(Occurrence, Timestamp)>,
    pub turns: Vec<TurnExplanation>,
    /// Its messages to the user, oldest first.
    pub pings: Vec<ShownPing>,
    /// The refused calls with the reply to each.
    pub refused: Vec<(String, String)>,
    /// Its deferred messages, oldest first, each with the time of its digest.
    pub deferred: Vec<(Deferred, Option<Timestamp>)>,
    /// The card of the reminder.
    pub card: Option<Card>,
}

/// A message that was shown to the user.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownPing {
    /// The entry that contains it; its id is the shown number.
    pub entry: EntryId,
    pub text: String,
    /// The charge; `None` if the message took no ping.
    pub charge: Option<PingCharge>,
}

impl JobExplanation {
    /// Returns the explanation as text, with times in `zone`.
    pub fn render(&self, zone: &TimeZone) -> String {
        let mut lines = vec![self.trigger_line(zone)];
        lines.extend(self.tools_line());
        lines.extend(self.usage_line());
        lines.extend(self.refused.iter().map(|(tool, why)| format!("refused: {tool}: {why}")));
        lines.extend(self.pings.iter().map(ShownPing::render));
        lines.extend(
            self.card.as_ref().map(|card| {
                format!("it rang on {}: {}.", format_time(card.rang_at, zone), card_outcome(card))
            }),
        );
        lines.extend(self.silence_reason().map(|why| format!("it did not reach you: {why}.")));
        lines.push(self.end_line(zone));
        lines.join("\n")
    }

    /// Returns one line for a list.
    pub fn line(&self, zone: &TimeZone) -> String {
        let Some((occurrence, began)) = &self.due else {
            return format!("{} was begun by hand", self.source);
        };
        let due = format_time(occurrence.key.due, zone);
        let reached = match (self.silence_reason(), &self.card, self.deferred.is_empty()) {
            (Some(why), _, true) => format!("silent: {why}"),
            (Some(why), _, false) => why,
            (None, Some(card), _) => format!("rang: {}", card_outcome(card)),
            (None, None, _) => {
                let ping = |ping: &ShownPing| format!("ping {}", ping.entry.0);
                self.pings.iter().map(ping).collect::<Vec<_>>().join(", ")
            }
        };
        let how = match &occurrence.state {
            OccurrenceState::Ended(end) => end.as_str(),
            OccurrenceState::Running(_) | OccurrenceState::SentToMain(_) => "goes on",
            OccurrenceState::Retrying(_) => "tried again",
            OccurrenceState::Queued => "waits",
        };
        format!("- {due}  {how:<9}  {}  {reached}", lateness_text(occurrence, *began))
    }

    /// Returns why the user was not interrupted; `None` if they were.
    pub fn silence_reason(&self) -> Option<String> {
        if !self.pings.is_empty() || self.card.is_some() {
            return None;
        }
        if let Some((held, told)) = self.deferred.last() {
            let why = held.reason.describe();
            let id = held.id.0;
            return Some(match told {
                None => format!("held as held:{id} until the next digest, since {why}"),
                Some(_) => format!("held as held:{id} and told in a digest, since {why}"),
            });
        }
        let Some((occurrence, _)) = &self.due else { return Some(self.quiet_reason()) };
        Some(match &occurrence.state {
            OccurrenceState::Running(_) | OccurrenceState::SentToMain(_) => {
                "it is still being done".to_owned()
            }
            OccurrenceState::Retrying(_) if occurrence.tries == 0 => "it is about to begin".to_owned(),
            OccurrenceState::Retrying(_) => "it failed, and is tried again".to_owned(),
            OccurrenceState::Queued if is_webhook(occurrence) => WEBHOOK_WAITS.to_owned(),
            OccurrenceState::Queued => "it waits for the one before it".to_owned(),
            OccurrenceState::Ended(OccurrenceEnd::Done(_)) => self.quiet_reason(),
            OccurrenceState::Ended(end) => end.note().trim_end_matches('.').to_owned(),
        })
    }

    /// Returns whether it produced a message. Messages without a model do not count as tries.
    fn has_output(&self) -> bool {
        !self.pings.is_empty() || !self.deferred.is_empty() || self.card.is_some()
    }

    /// Returns the total of the calls of all turns.
    pub fn total(&self) -> Total {
        let mut total = Total::default();
        let calls = self.turns.iter().flat_map(|turn| &turn.calls);
        calls.for_each(|spent| total.add(spent));
        total
    }

    fn quiet_reason(&self) -> String {
        let on_main = self.due.as_ref().is_some_and(|(occurrence, _)| {
            occurrence.tries > 0
                && self.turns.iter().any(|turn| turn.branch == crate::conversation::Branch::Main)
                || matches!(&occurrence.state, OccurrenceState::Ended(end) if end.is_verbatim())
        });
        match (on_main, self.refused.last()) {
            (true, _) => "it spoke in our main conversation, which takes no ping".to_owned(),
            (false, Some((tool, _))) => format!("`{tool}` was refused"),
            (false, None) => "it asked for no ping".to_owned(),
        }
    }

    fn trigger_line(&self, zone: &TimeZone) -> String {
        let Some((occurrence, began)) = &self.due else {
            return format!("{} was begun by hand; no clock set it off.", self.source);
        };
        let due = format_time(occurrence.key.due, zone);
        let tries = match occurrence.tries {
            0 if !self.has_output() => ", and was never begun".to_owned(),
            0 | 1 => format!(", and was begun {}", lateness_text(occurrence, *began)),
            tries => format!(", was begun {}, and tried {tries} times", lateness_text(occurrence, *began)),
        };
        format!("{} ({}) was due on {due}{tries}.", self.source, occurrence.name)
    }

    fn tools_line(&self) -> Option<String> {
        let tools = self.turns.iter().flat_map(|turn| &turn.tools);
        let named: Vec<String> = tools.map(DecidedCall::render).collect();
        (!named.is_empty()).then(|| format!("tools, and the rule that decided: {}.", named.join(", ")))
    }

    fn usage_line(&self) -> Option<String> {
        let total = self.total();
        let models: std::collections::BTreeSet<&str> =
            self.turns.iter().flat_map(|turn| &turn.calls).map(|spent| spent.call.model.as_str()).collect();
        let names = models.into_iter().collect::<Vec<_>>().join(", ");
        let read = short_count(total.usage.total_input());
        let written = short_count(total.usage.output);
        let money = if total.unpriced == 0 {
            format!("it cost {}", total.cost)
        } else {
            "its price is not known".to_owned()
        };
        (total.calls > 0).then(|| {
            format!("{} calls of {names}: {read} tokens read, {written} written; {money}.", total.calls)
        })
    }

    fn end_line(&self, zone: &TimeZone) -> String {
        let Some((occurrence, began)) = &self.due else {
            return self
                .turns
                .last()
                .map_or_else(|| "it still goes on.".to_owned(), TurnExplanation::end_line);
        };
        let after = format_duration(occurrence.since.duration_since(*began));
        match &occurrence.state {
            OccurrenceState::Running(branch) => format!("it goes on in {branch}."),
            OccurrenceState::SentToMain(_) => {
                "it waits for its turn in our main conversation, or is being answered there.".to_owned()
            }
            OccurrenceState::Retrying(at) if occurrence.tries == 0 => {
                format!("it has not begun yet, and is tried on {} at the latest.", format_time(*at, zone))
            }
            OccurrenceState::Retrying(at) => {
                format!("it failed, and is tried again on {}.", format_time(*at, zone))
            }
            OccurrenceState::Queued if is_webhook(occurrence) => format!("{WEBHOOK_WAITS}."),
            OccurrenceState::Queued => "it waits until the one before it has ended.".to_owned(),
            OccurrenceState::Ended(OccurrenceEnd::Missed { last, count, reason: why }) if *count > 1 => {
                format!("it was missed {count} times, up to {}: {why}.", format_time(*last, zone))
            }
            OccurrenceState::Ended(end) if end.note().is_empty() => {
                format!("it was {} after {after}.", end_word(end))
            }
            OccurrenceState::Ended(end) => {
                format!("it was {} after {after}: {}.", end_word(end), end.note().trim_end_matches('.'))
            }
        }
    }
}

/// The state of a queued webhook delivery.
const WEBHOOK_WAITS: &str = "it waits for its turn, or for tomorrow if today's limit is used up";

fn is_webhook(occurrence: &Occurrence) -> bool {
    matches!(occurrence.key.source, CostSource::Webhook(_))
}

/// Returns the outcome of a reminder's card.
fn card_outcome(card: &Card) -> &'static str {
    match card.state {
        CardState::Open => "it is open",
        CardState::Done(_) => "you did it",
        CardState::Moved(..) | CardState::Planned(_) => "you moved it",
        CardState::Dropped => "you dropped it",
    }
}

fn end_word(end: &OccurrenceEnd) -> &'static str {
    match end {
        OccurrenceEnd::Done(_) => "done",
        OccurrenceEnd::Failed(_) => "given up",
        OccurrenceEnd::Missed { .. } => "missed",
        OccurrenceEnd::Skipped(_) => "left out",
        OccurrenceEnd::Cancelled(_) => "cancelled",
    }
}

impl ShownPing {
    fn render(&self) -> String {
        let words = self.text.trim().replace('\n', " ");
        let quoted = match words.char_indices().nth(MAX_QUOTED_CHARS) {
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

fn lateness_text(occurrence: &Occurrence, began: Timestamp) -> String {
    let late = began.duration_since(occurrence.key.due);
    match (occurrence.lateness, late.as_secs()) {
        (Lateness::OnTime, ..1) => "on time".to_owned(),
        (Lateness::OnTime | Lateness::Late, _) => {
            format!("{} late", format_duration(late.max(SignedDuration::ZERO)))
        }
    }
}

fn format_time(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d at %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occurrence::OccurrenceKey;

    /// A webhook message without a model counts as begun, although it has no tries.
    #[test]
    fn verbatim_delivery_counts_as_begun() {
        let source = CostSource::Webhook("build".to_owned());
        let due = Timestamp::constant(1_794_700_000, 0);
        let stage = OccurrenceState::Ended(OccurrenceEnd::Done(String::new()));
        let key = OccurrenceKey { source: source.clone(), due };
        let name = "build".to_owned();
        let words = String::new();
        let lateness = Lateness::OnTime;
        let occurrence = Occurrence {
            key,
            name,
            prompt: words,
            lateness,
            tries: 0,
            state: stage,
            since: due,
            shown_verbatim: false,
        };
        let ping = ShownPing { entry: EntryId(3), text: "it failed".to_owned(), charge: None };
        let due = Some((occurrence, due));
        let turns = Vec::new();
        let refused = Vec::new();
        let held = Vec::new();
        let mut work =
            JobExplanation { source, due, turns, pings: vec![ping], refused, deferred: held, card: None };
        assert!(
            work.render(&TimeZone::UTC).contains("and was begun on time."),
            "{}",
            work.render(&TimeZone::UTC)
        );
        work.pings.clear();
        assert!(
            work.render(&TimeZone::UTC).contains("and was never begun."),
            "{}",
            work.render(&TimeZone::UTC)
        );
    }
}
