//! Queries and commands to the assistant on behalf of slash commands, with replies as text.

use domain::assistant::{Answer, Event, Numbers, Planning, Plans, Question, Request};
use domain::phrase::Habits;
use domain::record::SurfaceName;
use engine::commands::obey;

use super::written::planned;
use crate::discord::dm::Shared;

/// Reply to an answer of an unexpected type.
const ELSE: &str = "i answered something else than was asked. try it again.";

/// Returns the schedule with the runs in progress.
pub(super) async fn plans(shared: &Shared) -> Result<Box<Plans>, String> {
    let answer = shared.ports.desk.ask(Request::Tell(Question::Plans)).await;
    let Answer::Plans(plans) = answer else { return Err(refusal(answer)) };
    Ok(plans)
}

/// Returns how the user's words for times are read, so that suggestions match what is planned.
pub(in crate::discord) async fn habits(shared: &Shared) -> Habits {
    let answer = shared.ports.desk.ask(Request::Tell(Question::Attention)).await;
    let Answer::Attention(attention) = answer else { return Habits::default() };
    attention.calm.quiet.habits()
}

/// Returns the counts of pending items.
pub(super) async fn numbers(shared: &Shared) -> Result<Numbers, String> {
    let answer = shared.ports.desk.ask(Request::Tell(Question::Numbers)).await;
    let Answer::Numbers(numbers) = answer else { return Err(refusal(answer)) };
    Ok(numbers)
}

/// Executes a schedule command. New plans are described with Discord timestamps.
pub(super) async fn plan(shared: &Shared, planning: Planning) -> Result<String, String> {
    let before = plans(shared).await?;
    let answer = ask(shared, Request::Plan(planning)).await;
    if matches!(answer, Answer::Begun(_) | Answer::Heard(_)) {
        return Ok("it runs now.".to_owned());
    }
    let Answer::Told(told) = answer else { return Err(refusal(answer)) };
    if !told.starts_with('✓') {
        return Ok(told);
    }
    let plans = plans(shared).await?;
    let made = plans.made_since(&before);
    let since = made.map(|made| planned(&plans, &made.since)).unwrap_or_default();
    let notes: Vec<&str> = told.lines().filter(|line| line.starts_with('(')).collect();
    Ok(if since.is_empty() { told } else { [vec![since.as_str()], notes].concat().join("\n") })
}

/// Sends a request of the user, after reporting that the user is on Discord.
pub(super) async fn ask(shared: &Shared, request: Request) -> Answer {
    shared.ports.desk.tell(Event::Seen(SurfaceName::Discord)).await;
    shared.ports.desk.ask(request).await
}

/// Executes a command that is the same on every surface.
pub(in crate::discord) async fn command(shared: &Shared, text: &str) -> Answer {
    let ports = &shared.ports;
    obey((SurfaceName::Discord, text), &ports.desk, ports.archive.as_ref(), ports.clock.now()).await
}

pub(super) fn refusal(answer: Answer) -> String {
    match answer {
        Answer::Refused(why) => why,
        Answer::Heard(_)
        | Answer::Begun(_)
        | Answer::Decided(_)
        | Answer::Noted
        | Answer::Results(_)
        | Answer::Told(_)
        | Answer::Plans(_)
        | Answer::Numbers(_)
        | Answer::Attention(_)
        | Answer::Overspent(_)
        | Answer::Shown(_) => ELSE.to_owned(),
    }
}
