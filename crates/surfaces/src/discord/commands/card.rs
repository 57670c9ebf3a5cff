//! Cards: lists shown by a command, rendered again after each action on them.

use std::fmt;

use domain::assistant::{Numbers, Plans};
use domain::schedule::{ItemId, JobSpec, PauseState, Plan, first_step, generic_step};
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan, Zoned};

use super::markup::{date_tag, plan_name, time_tag, truncate};
use super::queries::{numbers, plans};
use super::routine;
use crate::discord::dm::Shared;
use crate::discord::message::{Button, ButtonKind, Choice, OutgoingMessage, Row, Select, Style};
use crate::discord::split::units;

/// Maximum number of lines of a list.
const MAX_LINES: usize = 20;
/// Maximum number of times of one plan in a day.
const MAX_TIMES_PER_PLAN: usize = 24;
/// Maximum length of an option's label.
const MAX_LABEL: usize = 100;
/// Prefix of the custom ids of all components on cards.
pub(super) const CUSTOM_ID_PREFIX: &str = "cmd:";

/// Identifies a list that can be rendered again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Card {
    /// No list, only text.
    TextOnly,
    /// The next item.
    Now,
    Day(Date),
    Reminders,
    Routines,
    Routine(ItemId),
}

impl Card {
    /// Parses the form written by `Display`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.split_once('/') {
            None => [Self::TextOnly, Self::Now, Self::Reminders, Self::Routines]
                .into_iter()
                .find(|card| card.to_string() == text),
            Some(("day", date)) => date.parse().ok().map(Self::Day),
            Some(("routine", id)) => ItemId::parse(id).ok().map(Self::Routine),
            Some(_) => None,
        }
    }

    /// Renders the current state of the card.
    pub(super) async fn render(&self, shared: &Shared) -> Result<OutgoingMessage, String> {
        let now = shared.ports.clock.now();
        if *self == Self::TextOnly {
            return Ok(OutgoingMessage::default());
        }
        let plans = plans(shared).await?;
        match self {
            Self::TextOnly => Ok(OutgoingMessage::default()),
            Self::Now => Ok(next_card(&plans)),
            Self::Day(day) => Ok(day_card(&plans, *day, &numbers(shared).await?, &now)),
            Self::Reminders => Ok(reminders_card(&plans, "")),
            Self::Routines => Ok(routine::routine_list(&plans, now.timestamp())),
            Self::Routine(id) => routine::routine_card(shared, &plans, id).await,
        }
    }

    /// Returns the custom id of the component for `verb`.
    pub(super) fn custom_id(&self, verb: &str) -> String {
        format!("{CUSTOM_ID_PREFIX}{verb}:{self}")
    }

    /// Creates a button of this card.
    pub(super) fn button(&self, label: &str, style: Style, verb: &str) -> Button {
        Button {
            label: label.to_owned(),
            emoji: None,
            kind: ButtonKind::Interactive(style, self.custom_id(verb)),
        }
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TextOnly => f.write_str("words"),
            Self::Now => f.write_str("now"),
            Self::Day(date) => write!(f, "day/{date}"),
            Self::Reminders => f.write_str("reminders"),
            Self::Routines => f.write_str("routines"),
            Self::Routine(id) => write!(f, "routine/{id}"),
        }
    }
}

/// Renders the next item of the schedule.
fn next_card(plans: &Plans) -> OutgoingMessage {
    let Some((at, plan)) = plans.agenda.upcoming().next() else {
        return OutgoingMessage::text("nothing is planned. `/remind` plans something.");
    };
    let mut card = OutgoingMessage::text(format!("▶ {} · {}", plan_name(plan), date_tag(at)));
    if let JobSpec::Reminder(reminder) = &plan.job.spec {
        let words = reminder.prompt.as_str();
        let step = first_step(words).unwrap_or_else(|| generic_step(words));
        card.content.push_str(&format!("\nfirst step: {step}"));
        let done = Card::Now.button("Done", Style::Success, &format!("done.{}", reminder.id));
        let moved = Card::Now.button("Move to…", Style::Secondary, &format!("move.{}", reminder.id));
        card.rows = vec![Row::Buttons(vec![done, moved])];
    }
    card
}

/// Returns the times in the given range, in order.
pub(super) fn times_between<'a>(
    plans: &'a Plans,
    (from, to): (Timestamp, Timestamp),
    now: &Zoned,
) -> Vec<(Timestamp, &'a Plan)> {
    let mut times: Vec<(Timestamp, &Plan)> = Vec::new();
    for (_, plan) in plans.agenda.upcoming().take_while(|(at, _)| *at < to) {
        let ahead = plans.agenda.future_times(plan, (from, to), now.time_zone());
        times.extend(ahead.take(MAX_TIMES_PER_PLAN).map(|at| (at, plan)));
    }
    times.sort_by(|one, other| one.0.cmp(&other.0).then_with(|| one.1.job.file.cmp(&other.1.job.file)));
    times
}

/// Returns the range from the beginning of `day`, or from now if that is later, over `days` days.
pub(super) fn range_from(day: Date, days: i64, now: &Zoned) -> (Timestamp, Timestamp) {
    let zone = now.time_zone();
    let start = |day: Date| day.to_zoned(zone.clone()).map(|at| at.timestamp());
    let from = start(day).unwrap_or(now.timestamp()).max(now.timestamp());
    let to = day.checked_add(days.days()).and_then(start).unwrap_or(from);
    (from, to)
}

/// Renders the times of a day and the counts of pending items. The soonest item is marked.
fn day_card(plans: &Plans, day: Date, numbers: &Numbers, now: &Zoned) -> OutgoingMessage {
    let times = times_between(plans, range_from(day, 1, now), now);
    let soonest = plans.agenda.upcoming().next();
    let next = soonest.map(|(at, _)| at);
    let mut lines = vec![format!("**{}**", day.strftime("%A %-d %b").to_string().to_lowercase())];
    if times.is_empty() {
        let nothing = if day == now.date() { "nothing left today." } else { "nothing that day." };
        lines.push(nothing.to_owned());
        let later = soonest.filter(|_| day == now.date());
        lines.extend(later.map(|(at, plan)| format!("▶ {} · {}", date_tag(at), plan_name(plan))));
    }
    let line = |(at, plan): &(Timestamp, &Plan)| {
        if Some(*at) == next {
            format!("▶ {} · {}", time_tag(*at), plan_name(plan))
        } else {
            format!("{} · {}", time_tag(*at), plan_name(plan))
        }
    };
    push_lines(&mut lines, times.iter().map(line));
    lines.push(pending_line(numbers));
    let mut card = OutgoingMessage::text(lines.join("\n"));
    let seen = times.iter().map(|(_, plan)| *plan);
    card.rows = reminder_menus(&Card::Day(day), seen);
    card
}

fn pending_line(numbers: &Numbers) -> String {
    let updates = match numbers.updates {
        1 => "1 update".to_owned(),
        count => format!("{count} updates"),
    };
    let inbox = numbers.inbox;
    let pings = numbers.pings.available.floor();
    format!("-# while you were away: {updates} · inbox {inbox} · pings {pings} left")
}

/// Renders the reminders whose name contains `find`, soonest first.
pub(super) fn reminders_card(plans: &Plans, find: &str) -> OutgoingMessage {
    let find = find.trim().to_lowercase();
    let is_meant = |plan: &&Plan| plan.job.display_name().to_lowercase().contains(&find);
    let once = |plan: &&Plan| matches!(plan.job.spec, JobSpec::Reminder(_));
    let all: Vec<(Timestamp, &Plan)> =
        plans.agenda.upcoming().filter(|(_, plan)| once(plan) && is_meant(plan)).collect();
    if all.is_empty() {
        let nothing = if find.is_empty() {
            "no reminder waits. `/remind` makes one.".to_owned()
        } else {
            format!("no reminder is called `{}`.", truncate(&find.replace('`', ""), MAX_LABEL))
        };
        return OutgoingMessage::text(nothing);
    }
    let mut lines = Vec::new();
    let line = |(at, plan): &(Timestamp, &Plan)| format!("- {} · {}", plan_name(plan), date_tag(*at));
    push_lines(&mut lines, all.iter().map(line));
    let mut card = OutgoingMessage::text(lines.join("\n"));
    card.rows = reminder_menus(&Card::Reminders, all.iter().map(|(_, plan)| *plan));
    card
}

/// Adds as many lines as fit, and a count of those that do not.
pub(super) fn push_lines(lines: &mut Vec<String>, more: impl Iterator<Item = String>) {
    let mut space = 1_700_usize;
    let mut shown = 0;
    let mut hidden = 0;
    for line in more {
        space = space.saturating_sub(units(&line) + 1);
        if shown == MAX_LINES || space == 0 {
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
fn reminder_menus<'a>(card: &Card, plans: impl Iterator<Item = &'a Plan>) -> Vec<Row> {
    let choice = |plan: &Plan| match &plan.job.spec {
        JobSpec::Reminder(reminder) => Some(Choice {
            label: truncate(&plan.job.display_name(), MAX_LABEL),
            value: reminder.id.to_string(),
            ..Choice::default()
        }),
        JobSpec::Routine(_) => None,
    };
    let choices: Vec<Choice> = plans.filter_map(choice).take(super::table::MAX_CHOICES).collect();
    if choices.is_empty() {
        return Vec::new();
    }
    let menu = |label: &str, verb: &str| {
        let custom_id = card.custom_id(verb);
        let placeholder = label.to_owned();
        Row::Menu(Select { custom_id, placeholder, choices: choices.clone() })
    };
    vec![menu("Done…", "done"), menu("Move to…", "move")]
}

/// Describes whether and until when a plan is paused.
pub(super) fn pause_text(rest: PauseState, now: Timestamp) -> Option<String> {
    match rest {
        PauseState::Active => None,
        PauseState::Until(end) if end.at <= now => None,
        PauseState::Until(end) => Some(format!("rests until {}", date_tag(end.at))),
        PauseState::Indefinite => Some("rests".to_owned()),
    }
}
