//! Endpoints for the schedule: plans, past occurrences, and changes.

pub(super) mod dto;
mod edit;
mod past;
mod plan_result;
mod versions;
pub(super) mod window;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use domain::assistant::{Answer, Plans, Query as AssistantQuery, Request as Ask, ScheduleCommand};
use domain::cost::CostSource;
use domain::schedule::Plan;
use serde::Deserialize;

use super::App;
use super::api::{MAX_BODY_BYTES, read_body, unexpected_answer};
use super::api_error::ApiError;
use super::dto::CommandResponse;
use dto::{OccurrenceDto, PastDto, ScheduleDto};
pub(super) use edit::file_error;
pub(super) use past::{OccurrenceHistory, SentMessage};
use plan_result::PlanResultDto;
use window::{Window, WindowQuery};

/// Maximum number of jobs returned, soonest first.
const MAX_JOBS: usize = 1_000;
/// Maximum number of past occurrences of one job returned.
const MAX_PAST: u32 = 500;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/schedule", get(show))
        .route("/api/schedule/past", get(past))
        .route("/api/schedule/run", post(run))
        .route("/api/schedule/words", post(plan))
        .route("/api/schedule/pause", post(edit::pause))
        .route("/api/schedule/resume", post(edit::resume))
        .route("/api/schedule/file", get(edit::text).post(edit::rewrite))
        .route("/api/schedule/versions", get(versions::list))
        .route("/api/schedule/version", get(versions::text))
        .route("/api/schedule/check", post(edit::check))
}

/// Returns the schedule in a time window.
async fn show(
    State(app): State<App>,
    wanted: Result<Query<WindowQuery>, QueryRejection>,
) -> Result<Json<ScheduleDto>, ApiError> {
    let now = app.ports().clock.now();
    let window = Window::parse(wanted.ok().map(|Query(wanted)| wanted), &now)?;
    let plans = plans(&app).await?;
    let shown = sorted_plans(&plans);
    let past = OccurrenceHistory::by_source(&app, &shown).await?;
    Ok(Json(ScheduleDto::new(&plans, (&shown, &past), (&window, &now))))
}

/// Returns the plans with their running occurrences.
pub(super) async fn plans(app: &App) -> Result<Box<Plans>, ApiError> {
    let answer = app.ports().assistant.ask(Ask::Query(AssistantQuery::Plans)).await;
    let Answer::Plans(plans) = answer else { return Err(unexpected_answer(answer)) };
    Ok(plans)
}

/// Returns the plans to show, soonest first, those without a next time last.
fn sorted_plans(plans: &Plans) -> Vec<(&CostSource, &Plan)> {
    let mut all: Vec<(&CostSource, &Plan)> = plans.agenda.plans().collect();
    all.sort_by_key(|(source, plan)| (plan.next.is_none(), plan.next, *source));
    all.truncate(MAX_JOBS);
    all
}

/// A job and the number of occurrences.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PastQuery {
    job: String,
    limit: Option<u32>,
}

/// Returns the past occurrences of one job, newest first, also if it is not planned any more.
async fn past(
    State(app): State<App>,
    whose: Result<Query<PastQuery>, QueryRejection>,
) -> Result<Json<PastDto>, ApiError> {
    let wrong =
        || ApiError::malformed(format!("ask with `?job=routine:ID&limit=NUMBER`, from 1 to {MAX_PAST}."));
    let Query(whose) = whose.map_err(|_| wrong())?;
    let limit = Some(whose.limit.unwrap_or(20)).filter(|limit| (1..=MAX_PAST).contains(limit));
    let source = parse_job(&whose.job)?;
    let limit = limit.ok_or_else(wrong)?;
    let found = app.ports().archive.occurrences(Some(source), limit).await;
    let found = found.map_err(|unreadable| ApiError::internal(unreadable.0))?;
    let zone = app.ports().clock.now().time_zone().clone();
    let past = found.iter().map(|occurrence| OccurrenceDto::new(occurrence, None, &zone)).collect();
    Ok(Json(PastDto { past }))
}

/// Request about a job.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobRequest {
    job: String,
}

/// Runs a job now.
async fn run(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let named: JobRequest = read_body(&app, request, MAX_BODY_BYTES).await?;
    let begun = |turn, message| {
        let began = dto::StartedDto { ok: true, turn, message };
        (StatusCode::ACCEPTED, Json(began)).into_response()
    };
    match app.ports().assistant.ask(Ask::Schedule(ScheduleCommand::FireNow(parse_job(&named.job)?))).await {
        Answer::TurnStarted(turn) => Ok(begun(Some(turn.0), None)),
        Answer::MessageQueued(message) => Ok(begun(None, Some(message.0))),
        Answer::Done => Ok(begun(None, None)),
        answer @ (Answer::Rulings(_)
        | Answer::Results(_)
        | Answer::Text(_)
        | Answer::Plans(_)
        | Answer::Numbers(_)
        | Answer::Attention(_)
        | Answer::OverBudget(_)
        | Answer::Shown(_)
        | Answer::Refused(_)) => Err(unexpected_answer(answer)),
    }
}

/// Request to plan, move, pause or undo in the user's words.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanRequest {
    text: String,
}

async fn plan(State(app): State<App>, request: Request) -> Result<Json<PlanResultDto>, ApiError> {
    let PlanRequest { text } = read_body(&app, request, MAX_BODY_BYTES).await?;
    let before = plans(&app).await?;
    let answer = app.ports().assistant.ask(Ask::Schedule(ScheduleCommand::Capture(text))).await;
    let Answer::Text(text) = answer else { return Err(unexpected_answer(answer)) };
    let after = plans(&app).await?;
    let made = after.change_since(&before).cloned().unwrap_or_default();
    Ok(Json(PlanResultDto::new(text, (&made, &after), &app.ports().clock.now())))
}

/// Parses a job such as `routine:mail`.
fn parse_job(text: &str) -> Result<CostSource, ApiError> {
    match text.parse() {
        Ok(source @ (CostSource::Routine(_) | CostSource::Reminder(_))) => Ok(source),
        Ok(
            CostSource::Main
            | CostSource::Fork
            | CostSource::Compaction
            | CostSource::Webhook(_)
            | CostSource::Agent(_)
            | CostSource::Reader
            | CostSource::Search,
        )
        | Err(_) => {
            Err(ApiError::malformed(format!("`{text}` names no job. write `routine:ID` or `reminder:ID`.")))
        }
    }
}

/// Returns a reply with this text.
fn to_reply(text: String) -> Json<CommandResponse> {
    Json(CommandResponse { ok: true, text: Some(text), turn: None })
}
