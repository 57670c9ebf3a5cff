//! Queries and commands to the assistant on behalf of slash commands, with replies as text.

use domain::assistant::{Answer, Event, Numbers, Plans, Query, Request, ScheduleCommand};
use domain::phrase::Habits;
use domain::record::SurfaceName;
use engine::commands::execute;

use super::markup::plan_lines;
use crate::discord::dm::Shared;

/// Reply to an answer of an unexpected type.
const UNEXPECTED_ANSWER: &str = "i answered something else than was asked. try it again.";

/// Returns the schedule with the runs in progress.
pub(super) async fn plans(shared: &Shared) -> Result<Box<Plans>, String> {
    let answer = shared.ports.assistant.ask(Request::Query(Query::Plans)).await;
    let Answer::Plans(plans) = answer else { return Err(refusal_text(answer)) };
    Ok(plans)
}

/// Returns how the user's words for times are read, so that suggestions match what is planned.
pub(in crate::discord) async fn habits(shared: &Shared) -> Habits {
    let answer = shared.ports.assistant.ask(Request::Query(Query::Attention)).await;
    let Answer::Attention(attention) = answer else { return Habits::default() };
    attention.settings.quiet_hours.habits()
}

/// Returns the counts of pending items.
pub(super) async fn numbers(shared: &Shared) -> Result<Numbers, String> {
    let answer = shared.ports.assistant.ask(Request::Query(Query::Numbers)).await;
    let Answer::Numbers(numbers) = answer else { return Err(refusal_text(answer)) };
    Ok(numbers)
}

/// Executes a schedule command. New plans are described with Discord timestamps.
pub(super) async fn execute_plan(shared: &Shared, planning: ScheduleCommand) -> Result<String, String> {
    let before = plans(shared).await?;
    let answer = ask_as_user(shared, Request::Schedule(planning)).await;
    if matches!(answer, Answer::TurnStarted(_) | Answer::MessageQueued(_)) {
        return Ok("it runs now.".to_owned());
    }
    let Answer::Text(told) = answer else { return Err(refusal_text(answer)) };
    if !told.starts_with('✓') {
        return Ok(told);
    }
    let plans = plans(shared).await?;
    let made = plans.change_since(&before);
    let since = made.map(|made| plan_lines(&plans, &made.new_plans)).unwrap_or_default();
    let notes: Vec<&str> = told.lines().filter(|line| line.starts_with('(')).collect();
    Ok(if since.is_empty() { told } else { [vec![since.as_str()], notes].concat().join("\n") })
}

/// Sends a request of the user, after reporting that the user is on Discord.
pub(super) async fn ask_as_user(shared: &Shared, request: Request) -> Answer {
    shared.ports.assistant.send_event(Event::UserSeen(SurfaceName::Discord)).await;
    shared.ports.assistant.ask(request).await
}

/// Executes a command that is the same on every surface.
pub(in crate::discord) async fn run_command(shared: &Shared, text: &str) -> Answer {
    let ports = &shared.ports;
    execute((SurfaceName::Discord, text), &ports.assistant, ports.archive.as_ref(), ports.clock.now()).await
}

pub(super) fn refusal_text(answer: Answer) -> String {
    match answer {
        Answer::Refused(why) => why,
        Answer::MessageQueued(_)
        | Answer::TurnStarted(_)
        | Answer::Rulings(_)
        | Answer::Done
        | Answer::Results(_)
        | Answer::Text(_)
        | Answer::Plans(_)
        | Answer::Numbers(_)
        | Answer::Attention(_)
        | Answer::OverBudget(_)
        | Answer::Shown(_) => UNEXPECTED_ANSWER.to_owned(),
    }
}
