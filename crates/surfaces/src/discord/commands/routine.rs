//! Routine cards: the list, and one routine with its next and last times.

use domain::assistant::Plans;
use domain::cost::Source;
use domain::occurrence::{Occurrence, Stage};
use domain::schedule::{ItemId, Lateness, Pings, Plan, Routine, Standing, What};
use jiff::Timestamp;

use super::card::{Card, push, resting};
use super::written::{date, name, plain};
use crate::discord::dm::Shared;
use crate::discord::message::{Outgoing, Row, Style};

/// Number of next and last times shown.
const TIMES: usize = 5;

/// Renders all routines, soonest first, paused ones last.
pub(super) fn all(plans: &Plans, now: Timestamp) -> Outgoing {
    let mut all: Vec<(&Plan, &Routine)> = routines(plans).collect();
    all.sort_by_key(|(plan, routine)| (plan.next.is_none(), plan.next, &routine.id));
    if all.is_empty() {
        return Outgoing::words("there is no routine. say one: `stretch every weekday at 3`.");
    }
    let mut lines: Vec<String> =
        resting(plans.agenda.rest(), now).map(|rest| format!("all of it {rest}.")).into_iter().collect();
    let line = |(plan, routine): &(&Plan, &Routine)| {
        let next = match (plan.next, resting(routine.manner.rest, now)) {
            (_, Some(rest)) => rest,
            (Some(next), None) => format!("next {}", date(next)),
            (None, None) => "rests".to_owned(),
        };
        format!("- **{}** · {} · {next}", name(plan), routine.rhythm.tell())
    };
    push(&mut lines, all.iter().map(line));
    Outgoing::words(lines.join("\n"))
}

/// Returns all routines with their plans.
pub(super) fn routines(plans: &Plans) -> impl Iterator<Item = (&Plan, &Routine)> {
    plans.agenda.plans().filter_map(|(_, plan)| match &plan.planned.what {
        What::Routine(routine) => Some((plan, routine)),
        What::Reminder(_) => None,
    })
}

/// Finds the routine by its id or a part of its name.
pub(super) fn called(plans: &Plans, words: &str) -> Result<ItemId, String> {
    let words = words.trim();
    if let Some((_, routine)) = routines(plans).find(|(_, routine)| routine.id.as_str() == words) {
        return Ok(routine.id.clone());
    }
    let is_meant = |plan: &Plan| plan.planned.name().to_lowercase().contains(&words.to_lowercase());
    let found: Vec<&ItemId> =
        routines(plans).filter(|(plan, _)| is_meant(plan)).map(|(_, routine)| &routine.id).collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(format!("no routine is called `{words}`. `/routines` lists them.")),
        several => Err(format!("`{words}` could be {} routines. choose one from the list.", several.len())),
    }
}

/// Renders one routine: its schedule, where it runs, and the outcomes of its last times.
pub(super) async fn one(shared: &Shared, plans: &Plans, id: &ItemId) -> Result<Outgoing, String> {
    let source = Source::Routine(id.to_string());
    let Some((plan, routine)) = routines(plans).find(|(_, routine)| routine.id == *id) else {
        return Err("that routine is not planned any more.".to_owned());
    };
    let limit = u32::try_from(TIMES).unwrap_or(1);
    let last = shared.ports.archive.occurrences(Some(source), limit).await;
    let last = last.map_err(|unreadable| format!("i can't read what became of it: {unreadable}"))?;
    let now = shared.ports.clock.now();
    let mut lines = vec![format!("**{}**", name(plan)), how(routine)];
    lines.push(match resting(routine.manner.rest, now.timestamp()) {
        Some(rest) => rest,
        None => format!("next: {}", ahead(plans, plan, now.time_zone())),
    });
    if !last.is_empty() {
        lines.push(format!("last: {}", last.iter().rev().map(ended).collect::<Vec<_>>().join(" · ")));
    }
    let card = Card::Routine(id.clone());
    let rests = resting(routine.manner.rest, now.timestamp()).is_some();
    let (label, verb) = if rests { ("Go on", "wake") } else { ("Pause", "rest") };
    let run = card.button("Run now", Style::Primary, "run");
    let mut outgoing = Outgoing::words(lines.join("\n"));
    outgoing.rows = vec![Row::Buttons(vec![run, card.button(label, Style::Secondary, verb)])];
    Ok(outgoing)
}

fn how(routine: &Routine) -> String {
    let place = match routine.charter.standing() {
        Standing::Foreground => "in our conversation",
        Standing::Background => "in the background",
    };
    let pings = match routine.charter.terms().map(|terms| terms.voice.pings) {
        Some(Pings::Allowed) => ", may ping",
        Some(Pings::Never) | None => "",
    };
    format!("{} · {place}{pings}", plain(&routine.rhythm.tell()))
}

fn ahead(plans: &Plans, plan: &Plan, zone: &jiff::tz::TimeZone) -> String {
    let from = plan.next.unwrap_or(Timestamp::MAX);
    let times = plans.agenda.ahead(plan, (from, Timestamp::MAX), zone).take(TIMES);
    let told: Vec<String> = times.map(|at| format!("<t:{}:f>", at.as_second())).collect();
    if told.is_empty() { "none".to_owned() } else { told.join(", ") }
}

/// Describes the outcome of one occurrence.
fn ended(occurrence: &Occurrence) -> String {
    let word = match &occurrence.stage {
        Stage::Running(_) => "runs now",
        Stage::Asked(_) | Stage::Queued => "waits",
        Stage::Again(_) => "is tried again",
        Stage::Ended(end) => end.as_str(),
    };
    match occurrence.lateness {
        Lateness::OnTime => word.to_owned(),
        Lateness::Late => format!("{word} late"),
    }
}
