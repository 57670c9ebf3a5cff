//! Routine cards: the list, and one routine with its next and last times.

use domain::assistant::Plans;
use domain::cost::CostSource;
use domain::occurrence::{Occurrence, OccurrenceState};
use domain::schedule::{ItemId, JobSpec, Lateness, PingPermission, Placement, Plan, Routine};
use jiff::Timestamp;

use super::card::{Card, pause_text, push_lines};
use super::markup::{date_tag, escape, plan_name};
use crate::discord::dm::Shared;
use crate::discord::message::{OutgoingMessage, Row, Style};

/// Number of next and last times shown.
const SHOWN_TIMES: usize = 5;

/// Renders all routines, soonest first, paused ones last.
pub(super) fn routine_list(plans: &Plans, now: Timestamp) -> OutgoingMessage {
    let mut all: Vec<(&Plan, &Routine)> = routines(plans).collect();
    all.sort_by_key(|(plan, routine)| (plan.next.is_none(), plan.next, &routine.id));
    if all.is_empty() {
        return OutgoingMessage::text("there is no routine. say one: `stretch every weekday at 3`.");
    }
    let mut lines: Vec<String> =
        pause_text(plans.agenda.pause(), now).map(|rest| format!("all of it {rest}.")).into_iter().collect();
    let line = |(plan, routine): &(&Plan, &Routine)| {
        let next = match (plan.next, pause_text(routine.firing_policy.pause, now)) {
            (_, Some(rest)) => rest,
            (Some(next), None) => format!("next {}", date_tag(next)),
            (None, None) => "rests".to_owned(),
        };
        format!("- **{}** · {} · {next}", plan_name(plan), routine.recurrence.describe())
    };
    push_lines(&mut lines, all.iter().map(line));
    OutgoingMessage::text(lines.join("\n"))
}

/// Returns all routines with their plans.
pub(super) fn routines(plans: &Plans) -> impl Iterator<Item = (&Plan, &Routine)> {
    plans.agenda.plans().filter_map(|(_, plan)| match &plan.job.spec {
        JobSpec::Routine(routine) => Some((plan, routine)),
        JobSpec::Reminder(_) => None,
    })
}

/// Finds the routine by its id or a part of its name.
pub(super) fn find_routine(plans: &Plans, words: &str) -> Result<ItemId, String> {
    let words = words.trim();
    if let Some((_, routine)) = routines(plans).find(|(_, routine)| routine.id.as_str() == words) {
        return Ok(routine.id.clone());
    }
    let is_meant = |plan: &Plan| plan.job.display_name().to_lowercase().contains(&words.to_lowercase());
    let found: Vec<&ItemId> =
        routines(plans).filter(|(plan, _)| is_meant(plan)).map(|(_, routine)| &routine.id).collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(format!("no routine is called `{words}`. `/routines` lists them.")),
        several => Err(format!("`{words}` could be {} routines. choose one from the list.", several.len())),
    }
}

/// Renders one routine: its schedule, where it runs, and the outcomes of its last times.
pub(super) async fn routine_card(
    shared: &Shared,
    plans: &Plans,
    id: &ItemId,
) -> Result<OutgoingMessage, String> {
    let source = CostSource::Routine(id.to_string());
    let Some((plan, routine)) = routines(plans).find(|(_, routine)| routine.id == *id) else {
        return Err("that routine is not planned any more.".to_owned());
    };
    let limit = u32::try_from(SHOWN_TIMES).unwrap_or(1);
    let last = shared.ports.archive.occurrences(Some(source), limit).await;
    let last = last.map_err(|unreadable| format!("i can't read what became of it: {unreadable}"))?;
    let now = shared.ports.clock.now();
    let mut lines = vec![format!("**{}**", plan_name(plan)), describe(routine)];
    lines.push(match pause_text(routine.firing_policy.pause, now.timestamp()) {
        Some(rest) => rest,
        None => format!("next: {}", next_times(plans, plan, now.time_zone())),
    });
    if !last.is_empty() {
        lines.push(format!("last: {}", last.iter().rev().map(outcome_text).collect::<Vec<_>>().join(" · ")));
    }
    let card = Card::Routine(id.clone());
    let rests = pause_text(routine.firing_policy.pause, now.timestamp()).is_some();
    let (label, verb) = if rests { ("Go on", "wake") } else { ("Pause", "rest") };
    let run = card.button("Run now", Style::Primary, "run");
    let mut outgoing = OutgoingMessage::text(lines.join("\n"));
    outgoing.rows = vec![Row::Buttons(vec![run, card.button(label, Style::Secondary, verb)])];
    Ok(outgoing)
}

fn describe(routine: &Routine) -> String {
    let place = match routine.target.placement() {
        Placement::Foreground => "in our conversation",
        Placement::Background => "in the background",
    };
    let pings = match routine.target.options().map(|terms| terms.report_policy.pings) {
        Some(PingPermission::Allowed) => ", may ping",
        Some(PingPermission::Never) | None => "",
    };
    format!("{} · {place}{pings}", escape(&routine.recurrence.describe()))
}

fn next_times(plans: &Plans, plan: &Plan, zone: &jiff::tz::TimeZone) -> String {
    let from = plan.next.unwrap_or(Timestamp::MAX);
    let times = plans.agenda.future_times(plan, (from, Timestamp::MAX), zone).take(SHOWN_TIMES);
    let told: Vec<String> = times.map(|at| format!("<t:{}:f>", at.as_second())).collect();
    if told.is_empty() { "none".to_owned() } else { told.join(", ") }
}

/// Describes the outcome of one occurrence.
fn outcome_text(occurrence: &Occurrence) -> String {
    let word = match &occurrence.state {
        OccurrenceState::Running(_) => "runs now",
        OccurrenceState::SentToMain(_) | OccurrenceState::Queued => "waits",
        OccurrenceState::Retrying(_) => "is tried again",
        OccurrenceState::Ended(end) => end.as_str(),
    };
    match occurrence.lateness {
        Lateness::OnTime => word.to_owned(),
        Lateness::Late => format!("{word} late"),
    }
}
