//! Endpoints for the schedule: plans, past occurrences, and changes.

mod changing;
mod made;
mod past;
mod versions;
pub(super) mod window;
pub(super) mod wire;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use domain::assistant::{Answer, Planning, Plans, Question, Request as Ask};
use domain::cost::Source;
use domain::schedule::Plan;
use serde::Deserialize;

use super::App;
use super::api::{BODY_BYTES, read, unexpected};
use super::refusal::Refusal;
use super::wire::Obeyed;
pub(super) use changing::unchanged;
use made::MadeWire;
pub(super) use past::{Past, Sent};
use window::{Wanted, Window};
use wire::{OccurrenceWire, PastWire, ScheduleWire};

/// Maximum number of jobs returned, soonest first.
const JOBS: usize = 1_000;
/// Maximum number of past occurrences of one job returned.
const MOST_PAST: u32 = 500;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/schedule", get(show))
        .route("/api/schedule/past", get(past))
        .route("/api/schedule/run", post(run))
        .route("/api/schedule/words", post(plan))
        .route("/api/schedule/pause", post(changing::pause))
        .route("/api/schedule/resume", post(changing::resume))
        .route("/api/schedule/file", get(changing::text).post(changing::rewrite))
        .route("/api/schedule/versions", get(versions::list))
        .route("/api/schedule/version", get(versions::text))
        .route("/api/schedule/check", post(changing::check))
}

/// Returns the schedule in a time window.
async fn show(
    State(app): State<App>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Json<ScheduleWire>, Refusal> {
    let now = app.ports().clock.now();
    let window = Window::read(wanted.ok().map(|Query(wanted)| wanted), &now)?;
    let plans = plans(&app).await?;
    let shown = soonest(&plans);
    let past = Past::of(&app, &shown).await?;
    Ok(Json(ScheduleWire::new(&plans, (&shown, &past), (&window, &now))))
}

/// Returns the plans with their running occurrences.
pub(super) async fn plans(app: &App) -> Result<Box<Plans>, Refusal> {
    let answer = app.ports().desk.ask(Ask::Tell(Question::Plans)).await;
    let Answer::Plans(plans) = answer else { return Err(unexpected(answer)) };
    Ok(plans)
}

/// Returns the plans to show, soonest first, those without a next time last.
fn soonest(plans: &Plans) -> Vec<(&Source, &Plan)> {
    let mut all: Vec<(&Source, &Plan)> = plans.agenda.plans().collect();
    all.sort_by_key(|(source, plan)| (plan.next.is_none(), plan.next, *source));
    all.truncate(JOBS);
    all
}

/// A job and the number of occurrences.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whose {
    job: String,
    limit: Option<u32>,
}

/// Returns the past occurrences of one job, newest first, also if it is not planned any more.
async fn past(
    State(app): State<App>,
    whose: Result<Query<Whose>, QueryRejection>,
) -> Result<Json<PastWire>, Refusal> {
    let wrong =
        || Refusal::malformed(format!("ask with `?job=routine:ID&limit=NUMBER`, from 1 to {MOST_PAST}."));
    let Query(whose) = whose.map_err(|_| wrong())?;
    let limit = Some(whose.limit.unwrap_or(20)).filter(|limit| (1..=MOST_PAST).contains(limit));
    let source = job(&whose.job)?;
    let limit = limit.ok_or_else(wrong)?;
    let found = app.ports().archive.occurrences(Some(source), limit).await;
    let found = found.map_err(|unreadable| Refusal::broken(unreadable.0))?;
    let zone = app.ports().clock.now().time_zone().clone();
    let past = found.iter().map(|occurrence| OccurrenceWire::new(occurrence, None, &zone)).collect();
    Ok(Json(PastWire { past }))
}

/// Request about a job.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    job: String,
}

/// Runs a job now.
async fn run(State(app): State<App>, request: Request) -> Result<Response, Refusal> {
    let named: Named = read(&app, request, BODY_BYTES).await?;
    let begun = |turn, message| {
        let began = wire::BegunWire { ok: true, turn, message };
        (StatusCode::ACCEPTED, Json(began)).into_response()
    };
    match app.ports().desk.ask(Ask::Plan(Planning::Now(job(&named.job)?))).await {
        Answer::Begun(turn) => Ok(begun(Some(turn.0), None)),
        Answer::Heard(message) => Ok(begun(None, Some(message.0))),
        Answer::Noted => Ok(begun(None, None)),
        answer @ (Answer::Decided(_)
        | Answer::Results(_)
        | Answer::Told(_)
        | Answer::Plans(_)
        | Answer::Numbers(_)
        | Answer::Attention(_)
        | Answer::Overspent(_)
        | Answer::Shown(_)
        | Answer::Refused(_)) => Err(unexpected(answer)),
    }
}

/// Request to plan, move, pause or undo in the user's words.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    text: String,
}

async fn plan(State(app): State<App>, request: Request) -> Result<Json<MadeWire>, Refusal> {
    let Said { text } = read(&app, request, BODY_BYTES).await?;
    let before = plans(&app).await?;
    let answer = app.ports().desk.ask(Ask::Plan(Planning::Capture(text))).await;
    let Answer::Told(text) = answer else { return Err(unexpected(answer)) };
    let after = plans(&app).await?;
    let made = after.made_since(&before).cloned().unwrap_or_default();
    Ok(Json(MadeWire::new(text, (&made, &after), &app.ports().clock.now())))
}

/// Parses a job such as `routine:mail`.
fn job(text: &str) -> Result<Source, Refusal> {
    match text.parse() {
        Ok(source @ (Source::Routine(_) | Source::Reminder(_))) => Ok(source),
        Ok(
            Source::Main
            | Source::Fork
            | Source::Compaction
            | Source::Webhook(_)
            | Source::Agent(_)
            | Source::Reader
            | Source::Search,
        )
        | Err(_) => {
            Err(Refusal::malformed(format!("`{text}` names no job. write `routine:ID` or `reminder:ID`.")))
        }
    }
}

/// Returns a reply with this text.
fn told(text: String) -> Json<Obeyed> {
    Json(Obeyed { ok: true, text: Some(text), turn: None })
}
