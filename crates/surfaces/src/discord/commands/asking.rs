//! Asking: what the assistant is asked on behalf of a command, in words that a command can use.

use domain::assistant::{Answer, Event, Numbers, Planning, Plans, Question, Request};
use domain::phrase::Habits;
use domain::record::SurfaceName;
use engine::commands::obey;

use super::written::planned;
use crate::discord::dm::Shared;

/// What was answered that nobody asked for.
const ELSE: &str = "i answered something else than was asked. try it again.";

/// What is planned, with what goes on.
pub(super) async fn plans(shared: &Shared) -> Result<Box<Plans>, String> {
    let answer = shared.ports.desk.ask(Request::Tell(Question::Plans)).await;
    let Answer::Plans(plans) = answer else { return Err(refusal(answer)) };
    Ok(plans)
}

/// What the human's words for times mean: as the assistant reads them, so that what is offered is what is planned.
pub(in crate::discord) async fn habits(shared: &Shared) -> Habits {
    let answer = shared.ports.desk.ask(Request::Tell(Question::Attention)).await;
    let Answer::Attention(attention) = answer else { return Habits::default() };
    attention.calm.quiet.habits()
}

/// How much waits.
pub(super) async fn numbers(shared: &Shared) -> Result<Numbers, String> {
    let answer = shared.ports.desk.ask(Request::Tell(Question::Numbers)).await;
    let Answer::Numbers(numbers) = answer else { return Err(refusal(answer)) };
    Ok(numbers)
}

/// Does what is wanted of what is planned. What was planned is told with times that tick.
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

/// Asks for something that the human does here.
pub(super) async fn ask(shared: &Shared, request: Request) -> Answer {
    shared.ports.desk.tell(Event::Seen(SurfaceName::Discord)).await;
    shared.ports.desk.ask(request).await
}

/// What a command comes to that is the same on every surface.
pub(in crate::discord) async fn command(shared: &Shared, text: &str) -> Answer {
    let ports = &shared.ports;
    obey((SurfaceName::Discord, text), &ports.desk, ports.archive.as_ref(), ports.clock.now()).await
}

/// Why not.
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
