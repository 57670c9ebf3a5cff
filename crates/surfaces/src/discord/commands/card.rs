//! Cards: lists shown by a command, rendered again after each action on them.

use std::fmt;

use domain::assistant::{Numbers, Plans};
use domain::schedule::{ItemId, Plan, Rest, What, any_step, first_step};
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan, Zoned};

use super::asking::{numbers, plans};
use super::routine;
use super::written::{clock, cut, date, name};
use crate::discord::dm::Shared;
use crate::discord::message::{Button, Choice, Outgoing, Press, Row, Select, Style};
use crate::discord::split::units;

/// Maximum number of lines of a list.
const LINES: usize = 20;
/// Maximum number of times of one plan in a day.
const TIMES: usize = 24;
/// Maximum length of an option's label.
const OPTION: usize = 100;
/// Prefix of the custom ids of all components on cards.
pub(super) const PRESS: &str = "cmd:";

/// Identifies a list that can be rendered again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Card {
    /// No list, only text.
    Words,
    /// The next item.
    Now,
    Day(Date),
    Reminders,
    Routines,
    Routine(ItemId),
}

impl Card {
    /// Parses the form written by `Display`.
    pub(super) fn read(text: &str) -> Option<Self> {
        match text.split_once('/') {
            None => [Self::Words, Self::Now, Self::Reminders, Self::Routines]
                .into_iter()
                .find(|card| card.to_string() == text),
            Some(("day", date)) => date.parse().ok().map(Self::Day),
            Some(("routine", id)) => ItemId::parse(id).ok().map(Self::Routine),
            Some(_) => None,
        }
    }

    /// Renders the current state of the card.
    pub(super) async fn show(&self, shared: &Shared) -> Result<Outgoing, String> {
        let now = shared.ports.clock.now();
        if *self == Self::Words {
            return Ok(Outgoing::default());
        }
        let plans = plans(shared).await?;
        match self {
            Self::Words => Ok(Outgoing::default()),
            Self::Now => Ok(next(&plans)),
            Self::Day(day) => Ok(of_day(&plans, *day, &numbers(shared).await?, &now)),
            Self::Reminders => Ok(reminders(&plans, "")),
            Self::Routines => Ok(routine::all(&plans, now.timestamp())),
            Self::Routine(id) => routine::one(shared, &plans, id).await,
        }
    }

    /// Returns the custom id of the component for `verb`.
    pub(super) fn press(&self, verb: &str) -> String {
        format!("{PRESS}{verb}:{self}")
    }

    /// Creates a button of this card.
    pub(super) fn button(&self, label: &str, style: Style, verb: &str) -> Button {
        Button { label: label.to_owned(), emoji: None, press: Press::Tell(style, self.press(verb)) }
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words => f.write_str("words"),
            Self::Now => f.write_str("now"),
            Self::Day(date) => write!(f, "day/{date}"),
            Self::Reminders => f.write_str("reminders"),
            Self::Routines => f.write_str("routines"),
            Self::Routine(id) => write!(f, "routine/{id}"),
        }
    }
}

/// Renders the next item of the schedule.
fn next(plans: &Plans) -> Outgoing {
    let Some((at, plan)) = plans.agenda.soonest().next() else {
        return Outgoing::words("nothing is planned. `/remind` plans something.");
    };
    let mut card = Outgoing::words(format!("▶ {} · {}", name(plan), date(at)));
    if let What::Reminder(reminder) = &plan.planned.what {
        let words = reminder.message.as_str();
        let step = first_step(words).unwrap_or_else(|| any_step(words));
        card.content.push_str(&format!("\nfirst step: {step}"));
        let done = Card::Now.button("Done", Style::Success, &format!("done.{}", reminder.id));
        let moved = Card::Now.button("Move to…", Style::Secondary, &format!("move.{}", reminder.id));
        card.rows = vec![Row::Buttons(vec![done, moved])];
    }
    card
}

/// Returns the times in the given range, in order.
pub(super) fn times<'a>(
    plans: &'a Plans,
    (from, to): (Timestamp, Timestamp),
    now: &Zoned,
) -> Vec<(Timestamp, &'a Plan)> {
    let mut times: Vec<(Timestamp, &Plan)> = Vec::new();
    for (_, plan) in plans.agenda.soonest().take_while(|(at, _)| *at < to) {
        let ahead = plans.agenda.ahead(plan, (from, to), now.time_zone());
        times.extend(ahead.take(TIMES).map(|at| (at, plan)));
    }
    times.sort_by(|one, other| {
        one.0.cmp(&other.0).then_with(|| one.1.planned.file.cmp(&other.1.planned.file))
    });
    times
}

/// Returns the range from the beginning of `day`, or from now if that is later, over `days` days.
pub(super) fn window(day: Date, days: i64, now: &Zoned) -> (Timestamp, Timestamp) {
    let zone = now.time_zone();
    let start = |day: Date| day.to_zoned(zone.clone()).map(|at| at.timestamp());
    let from = start(day).unwrap_or(now.timestamp()).max(now.timestamp());
    let to = day.checked_add(days.days()).and_then(start).unwrap_or(from);
    (from, to)
}

/// Renders the times of a day and the counts of pending items. The soonest item is marked.
fn of_day(plans: &Plans, day: Date, numbers: &Numbers, now: &Zoned) -> Outgoing {
    let times = times(plans, window(day, 1, now), now);
    let soonest = plans.agenda.soonest().next();
    let next = soonest.map(|(at, _)| at);
    let mut lines = vec![format!("**{}**", day.strftime("%A %-d %b").to_string().to_lowercase())];
    if times.is_empty() {
        let nothing = if day == now.date() { "nothing left today." } else { "nothing that day." };
        lines.push(nothing.to_owned());
        let later = soonest.filter(|_| day == now.date());
        lines.extend(later.map(|(at, plan)| format!("▶ {} · {}", date(at), name(plan))));
    }
    let line = |(at, plan): &(Timestamp, &Plan)| {
        if Some(*at) == next {
            format!("▶ {} · {}", clock(*at), name(plan))
        } else {
            format!("{} · {}", clock(*at), name(plan))
        }
    };
    push(&mut lines, times.iter().map(line));
    lines.push(waiting(numbers));
    let mut card = Outgoing::words(lines.join("\n"));
    let seen = times.iter().map(|(_, plan)| *plan);
    card.rows = menus(&Card::Day(day), seen);
    card
}

fn waiting(numbers: &Numbers) -> String {
    let updates = match numbers.updates {
        1 => "1 update".to_owned(),
        count => format!("{count} updates"),
    };
    let inbox = numbers.inbox;
    let pings = numbers.pings.available.floor();
    format!("-# while you were away: {updates} · inbox {inbox} · pings {pings} left")
}

/// Renders the reminders whose name contains `find`, soonest first.
pub(super) fn reminders(plans: &Plans, find: &str) -> Outgoing {
    let find = find.trim().to_lowercase();
    let is_meant = |plan: &&Plan| plan.planned.name().to_lowercase().contains(&find);
    let once = |plan: &&Plan| matches!(plan.planned.what, What::Reminder(_));
    let all: Vec<(Timestamp, &Plan)> =
        plans.agenda.soonest().filter(|(_, plan)| once(plan) && is_meant(plan)).collect();
    if all.is_empty() {
        let nothing = if find.is_empty() {
            "no reminder waits. `/remind` makes one.".to_owned()
        } else {
            format!("no reminder is called `{}`.", cut(&find.replace('`', ""), OPTION))
        };
        return Outgoing::words(nothing);
    }
    let mut lines = Vec::new();
    let line = |(at, plan): &(Timestamp, &Plan)| format!("- {} · {}", name(plan), date(*at));
    push(&mut lines, all.iter().map(line));
    let mut card = Outgoing::words(lines.join("\n"));
    card.rows = menus(&Card::Reminders, all.iter().map(|(_, plan)| *plan));
    card
}

/// Adds as many lines as fit, and a count of those that do not.
pub(super) fn push(lines: &mut Vec<String>, more: impl Iterator<Item = String>) {
    let mut room = 1_700_usize;
    let mut shown = 0;
    let mut hidden = 0;
    for line in more {
        room = room.saturating_sub(units(&line) + 1);
        if shown == LINES || room == 0 {
            hidden += 1;
            continue;
        }
        shown += 1;
        lines.push(line);
    }
    if hidden > 0 {
        lines.push(format!("and {hidden} more"));
    }
}

/// Creates the menus for the reminders among `plans`.
fn menus<'a>(card: &Card, plans: impl Iterator<Item = &'a Plan>) -> Vec<Row> {
    let choice = |plan: &Plan| match &plan.planned.what {
        What::Reminder(reminder) => Some(Choice {
            label: cut(&plan.planned.name(), OPTION),
            value: reminder.id.to_string(),
            ..Choice::default()
        }),
        What::Routine(_) => None,
    };
    let choices: Vec<Choice> = plans.filter_map(choice).take(super::table::CHOICES).collect();
    if choices.is_empty() {
        return Vec::new();
    }
    let menu = |label: &str, verb: &str| {
        let custom_id = card.press(verb);
        let placeholder = label.to_owned();
        Row::Menu(Select { custom_id, placeholder, choices: choices.clone() })
    };
    vec![menu("Done…", "done"), menu("Move to…", "move")]
}

/// Describes whether and until when a plan is paused.
pub(super) fn resting(rest: Rest, now: Timestamp) -> Option<String> {
    match rest {
        Rest::Never => None,
        Rest::Until(end) if end.at <= now => None,
        Rest::Until(end) => Some(format!("rests until {}", date(end.at))),
        Rest::ForNow => Some("rests".to_owned()),
    }
}
