//! Lists of plans: a day, the week, the next item, or plans by name.

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

use super::Assistant;
use super::finding::{is_called, named};
use super::wording::told_when;
use crate::brain::Span;
use crate::phrase::{When, tell, tell_times};
use crate::schedule::{Charter, Planned, What, any_step, first_step, without_step};

/// Most lines of a list.
const LINES: usize = 20;
/// How near in time an item must be, before or after it is due, to be the next thing to do.
const FRESH: SignedDuration = SignedDuration::from_hours(1);

impl Assistant {
    /// Returns the list for `span`.
    pub(super) fn list(&self, span: &Span, now: &Zoned) -> String {
        let today = now.date();
        match span {
            Span::Today => self.days(today, today, &self.nothing_left(now), now),
            Span::Tomorrow => {
                let tomorrow = today.tomorrow().unwrap_or(today);
                self.days(tomorrow, tomorrow, "nothing tomorrow.", now)
            }
            Span::Day(day) => self.days(*day, *day, "nothing that day.", now),
            Span::Week => {
                let end = today.checked_add(6.days()).unwrap_or(today);
                self.days(today, end, "nothing in the next seven days.", now)
            }
            Span::Next => self.next_thing(now),
            Span::Changes => self.tell_changes(now),
            Span::Inbox => crate::inbox::read_out(&self.memory.inbox.kept),
            Span::About(words) => self.about(words, now),
        }
    }

    /// Returns the one thing to do now, with the reason.
    fn next_thing(&self, now: &Zoned) -> String {
        let zone = now.time_zone();
        let told = |at: Timestamp| tell(&When::Once(at.to_zoned(zone.clone())), now, &[]);
        let next = self.memory.plans.agenda.soonest().next();
        let next = next.map(|(at, plan)| (at, plan.planned.name(), begun(&plan.planned.what)));
        let rang =
            self.memory.plans.rang.as_ref().map(|(what, at)| (what, now.timestamp().duration_since(*at)));
        let open = |what: &What| !matches!(what, What::Reminder(_)) || self.open_card(what).is_some();
        if let Some((what, ago)) = rang.filter(|(what, ago)| *ago <= FRESH && open(what)) {
            let ago = ago.as_mins();
            return format!(
                "{}\nwhy: it rang {ago} min ago. `done` when it is, or `snooze 1h`.{}",
                named(what),
                begun(what)
            );
        }
        match (next, self.memory.inbox.kept.first()) {
            (Some((at, name, step)), _) if at.duration_since(now.timestamp()) <= FRESH => {
                format!("{} · {name}\nwhy: it is the next thing planned.{step}", told(at))
            }
            (next, Some(kept)) => {
                let until = next.map_or_else(
                    || "nothing is planned".to_owned(),
                    |(at, ..)| format!("nothing is planned before {}", told(at)),
                );
                let thing = without_step(&kept.text);
                let step = step(&kept.text);
                format!("{thing}\nwhy: it has waited longest in your inbox, and {until}.{step}")
            }
            (Some((at, name, step)), None) => {
                format!("{} · {name}\nwhy: nothing comes before it, and the inbox is empty.{step}", told(at))
            }
            (None, None) => "nothing is planned.".to_owned(),
        }
    }

    /// Returns the text for an empty rest of the day, with the next item.
    fn nothing_left(&self, now: &Zoned) -> String {
        let next = self.memory.plans.agenda.soonest().next();
        next.map_or("nothing left today.".to_owned(), |(at, plan)| {
            let when = tell(&When::Once(at.to_zoned(now.time_zone().clone())), now, &[]);
            format!("nothing left today. next: {when} · {}", plan.planned.name())
        })
    }

    fn about(&self, words: &str, now: &Zoned) -> String {
        let plans = self.memory.plans.agenda.plans().map(|(_, plan)| plan);
        let plans = plans.filter(|plan| is_called(plan, words)).take(LINES);
        let lines: Vec<String> =
            plans.map(|plan| format!("{} · {}", told_when(plan, now), plan.planned.name())).collect();
        if lines.is_empty() { format!("nothing planned is called `{words}`.") } else { lines.join("\n") }
    }

    /// Returns the items from day `first` to day `last`, after now.
    fn days(&self, first: Date, last: Date, nothing: &str, now: &Zoned) -> String {
        let zone = now.time_zone();
        // All times of one plan on one day share a line.
        let mut times: Vec<(Vec<Zoned>, String)> = Vec::new();
        for (next, plan) in self.memory.plans.agenda.soonest() {
            if next.to_zoned(zone.clone()).date() > last {
                break;
            }
            let after = |at: &Timestamp| match &plan.planned.what {
                What::Routine(routine) => routine.rhythm.next(*at, zone),
                What::Reminder(_) => None,
            };
            let all = std::iter::successors(Some(next), after).map(|at| at.to_zoned(zone.clone()));
            let all = all.take_while(|at| at.date() <= last).filter(|at| at.date() >= first);
            let all: Vec<Zoned> = all.collect();
            let days = all.chunk_by(|one, two| one.date() == two.date());
            times.extend(days.map(|day| (day.to_vec(), plan.planned.name())));
        }
        times.sort();
        let line = |(day, name): &(Vec<Zoned>, String)| Some(format!("{} · {name}", tell_times(day, now)?));
        let mut lines: Vec<String> = times.iter().take(LINES).filter_map(line).collect();
        if first <= now.date() {
            let waiting = self.memory.plans.agenda.waiting(now.timestamp()).take(LINES);
            let cue = |planned: &Planned| Some(tell(&When::Cue(planned.cue()?.clone()), now, &[]));
            lines.extend(
                waiting.filter_map(|planned| Some(format!("{} · {}", cue(planned)?, planned.name()))),
            );
        }
        if times.len() > LINES {
            lines.push(format!("and {} more", times.len() - LINES));
        }
        if lines.is_empty() { nothing.to_owned() } else { lines.join("\n") }
    }
}

/// R4: returns the first step of a reminder for the user; empty for background jobs.
fn begun(what: &What) -> String {
    match what {
        What::Reminder(reminder) if matches!(reminder.charter(), Charter::Main(_)) => {
            step(reminder.message.as_str())
        }
        What::Reminder(_) | What::Routine(_) => String::new(),
    }
}

fn step(words: &str) -> String {
    format!("\nfirst step: {}", first_step(words).unwrap_or_else(|| any_step(words)))
}
