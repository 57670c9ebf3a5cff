//! Lists of plans: a day, the week, the next item, or plans by name.

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

use super::Assistant;
use super::item_search::{display_name, is_named};
use super::planner::when_text;
use crate::intent::ListRange;
use crate::phrase::{Timing, describe, describe_times};
use crate::schedule::{JobSpec, JobTarget, PlannedJob, first_step, generic_step, without_step};

/// Most lines of a list.
const MAX_LINES: usize = 20;
/// How near in time an item must be, before or after it is due, to be the next thing to do.
const NOW_RANGE: SignedDuration = SignedDuration::from_hours(1);

impl Assistant {
    /// Returns the list for `span`.
    pub(super) fn list_plans(&self, span: &ListRange, now: &Zoned) -> String {
        let today = now.date();
        match span {
            ListRange::Today => self.list_days(today, today, &self.empty_day_text(now), now),
            ListRange::Tomorrow => {
                let tomorrow = today.tomorrow().unwrap_or(today);
                self.list_days(tomorrow, tomorrow, "nothing tomorrow.", now)
            }
            ListRange::Day(day) => self.list_days(*day, *day, "nothing that day.", now),
            ListRange::Week => {
                let end = today.checked_add(6.days()).unwrap_or(today);
                self.list_days(today, end, "nothing in the next seven days.", now)
            }
            ListRange::Next => self.next_item(now),
            ListRange::Changes => self.tell_changes(now),
            ListRange::Inbox => crate::inbox::list_text(&self.state.inbox.items),
            ListRange::About(words) => self.list_by_name(words, now),
        }
    }

    /// Returns the one thing to do now, with the reason.
    fn next_item(&self, now: &Zoned) -> String {
        let zone = now.time_zone();
        let formatted = |at: Timestamp| describe(&Timing::Once(at.to_zoned(zone.clone())), now, &[]);
        let next = self.state.plans.agenda.upcoming().next();
        let next = next.map(|(at, plan)| (at, plan.job.display_name(), first_step_of(&plan.job.spec)));
        let last_fired = self
            .state
            .plans
            .last_finished
            .as_ref()
            .map(|(what, at)| (what, now.timestamp().duration_since(*at)));
        let open = |what: &JobSpec| !matches!(what, JobSpec::Reminder(_)) || self.open_card(what).is_some();
        if let Some((what, ago)) = last_fired.filter(|(what, ago)| *ago <= NOW_RANGE && open(what)) {
            let ago = ago.as_mins();
            return format!(
                "{}\nwhy: it rang {ago} min ago. `done` when it is, or `snooze 1h`.{}",
                display_name(what),
                first_step_of(what)
            );
        }
        match (next, self.state.inbox.items.first()) {
            (Some((at, name, step)), _) if at.duration_since(now.timestamp()) <= NOW_RANGE => {
                format!("{} · {name}\nwhy: it is the next thing planned.{step}", formatted(at))
            }
            (next, Some(kept)) => {
                let until = next.map_or_else(
                    || "nothing is planned".to_owned(),
                    |(at, ..)| format!("nothing is planned before {}", formatted(at)),
                );
                let thing = without_step(&kept.text);
                let step = first_step_line(&kept.text);
                format!("{thing}\nwhy: it has waited longest in your inbox, and {until}.{step}")
            }
            (Some((at, name, step)), None) => {
                format!(
                    "{} · {name}\nwhy: nothing comes before it, and the inbox is empty.{step}",
                    formatted(at)
                )
            }
            (None, None) => "nothing is planned.".to_owned(),
        }
    }

    /// Returns the text for an empty rest of the day, with the next item.
    fn empty_day_text(&self, now: &Zoned) -> String {
        let next = self.state.plans.agenda.upcoming().next();
        next.map_or("nothing left today.".to_owned(), |(at, plan)| {
            let when = describe(&Timing::Once(at.to_zoned(now.time_zone().clone())), now, &[]);
            format!("nothing left today. next: {when} · {}", plan.job.display_name())
        })
    }

    fn list_by_name(&self, words: &str, now: &Zoned) -> String {
        let plans = self.state.plans.agenda.plans().map(|(_, plan)| plan);
        let plans = plans.filter(|plan| is_named(plan, words)).take(MAX_LINES);
        let lines: Vec<String> =
            plans.map(|plan| format!("{} · {}", when_text(plan, now), plan.job.display_name())).collect();
        if lines.is_empty() { format!("nothing planned is called `{words}`.") } else { lines.join("\n") }
    }

    /// Returns the items from day `first` to day `last`, after now.
    fn list_days(&self, first: Date, last: Date, nothing: &str, now: &Zoned) -> String {
        let zone = now.time_zone();
        // All times of one plan on one day share a line.
        let mut times: Vec<(Vec<Zoned>, String)> = Vec::new();
        for (next, plan) in self.state.plans.agenda.upcoming() {
            if next.to_zoned(zone.clone()).date() > last {
                break;
            }
            let after = |at: &Timestamp| match &plan.job.spec {
                JobSpec::Routine(routine) => routine.recurrence.next(*at, zone),
                JobSpec::Reminder(_) => None,
            };
            let all = std::iter::successors(Some(next), after).map(|at| at.to_zoned(zone.clone()));
            let all = all.take_while(|at| at.date() <= last).filter(|at| at.date() >= first);
            let all: Vec<Zoned> = all.collect();
            let days = all.chunk_by(|one, two| one.date() == two.date());
            times.extend(days.map(|day| (day.to_vec(), plan.job.display_name())));
        }
        times.sort();
        let line =
            |(day, name): &(Vec<Zoned>, String)| Some(format!("{} · {name}", describe_times(day, now)?));
        let mut lines: Vec<String> = times.iter().take(MAX_LINES).filter_map(line).collect();
        if first <= now.date() {
            let waiting = self.state.plans.agenda.waiting_for_cue(now.timestamp()).take(MAX_LINES);
            let cue = |planned: &PlannedJob| Some(describe(&Timing::Cue(planned.cue()?.clone()), now, &[]));
            lines.extend(
                waiting.filter_map(|planned| Some(format!("{} · {}", cue(planned)?, planned.display_name()))),
            );
        }
        if times.len() > MAX_LINES {
            lines.push(format!("and {} more", times.len() - MAX_LINES));
        }
        if lines.is_empty() { nothing.to_owned() } else { lines.join("\n") }
    }
}

/// R4: returns the first step of a reminder for the user; empty for background jobs.
fn first_step_of(what: &JobSpec) -> String {
    match what {
        JobSpec::Reminder(reminder) if matches!(reminder.target(), JobTarget::Main(_)) => {
            first_step_line(reminder.prompt.as_str())
        }
        JobSpec::Reminder(_) | JobSpec::Routine(_) => String::new(),
    }
}

fn first_step_line(words: &str) -> String {
    format!("\nfirst step: {}", first_step(words).unwrap_or_else(|| generic_step(words)))
}
