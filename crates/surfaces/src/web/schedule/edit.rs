//! Changes the schedule by editing the job files, which define it.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use domain::schedule::{JobSpec, Moment, PauseState};
use jiff::Timestamp;
use serde::Deserialize;

use super::dto::TimeDto;
use super::{JobRequest, dto, parse_job, plans, to_reply};
use crate::web::App;
use crate::web::api::{MAX_BODY_BYTES, read_body};
use crate::web::api_error::ApiError;
use crate::web::dto::CommandResponse;
use crate::web::job_files::{JobFile, JobFileError};

/// Request to pause a job, until a time or indefinitely.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PauseRequest {
    job: String,
    until: Option<String>,
}

pub(super) async fn pause(
    State(app): State<App>,
    request: Request,
) -> Result<Json<CommandResponse>, ApiError> {
    let PauseRequest { job, until } = read_body(&app, request, MAX_BODY_BYTES).await?;
    let now = app.ports().clock.now();
    let rest = match until {
        None => PauseState::Indefinite,
        Some(text) => {
            let moment = Moment::parse(&text, now.time_zone());
            let moment = moment.ok().filter(|moment| moment.at > now.timestamp());
            PauseState::Until(moment.ok_or_else(|| {
                let words = format!("`{text}` is no time to come. write it like `2026-11-20T09:00`.");
                ApiError::rejected(words)
            })?)
        }
    };
    set_pause(&app, &job, rest).await.map(|name| to_reply(format!("{name} is paused.")))
}

pub(super) async fn resume(
    State(app): State<App>,
    request: Request,
) -> Result<Json<CommandResponse>, ApiError> {
    let JobRequest { job } = read_body(&app, request, MAX_BODY_BYTES).await?;
    set_pause(&app, &job, PauseState::Active).await.map(|name| to_reply(format!("{name} goes on.")))
}

/// Writes the pause into the file of a job and returns the job's name.
async fn set_pause(app: &App, name: &str, rest: PauseState) -> Result<String, ApiError> {
    let source = parse_job(name)?;
    let plans = plans(app).await?;
    let plan = plans.agenda.get(&source);
    let planned = &plan.ok_or_else(|| ApiError::rejected(format!("{source} is not planned.")))?.job;
    let file = parse_file(&planned.file)?;
    app.ports().job_files.set_pause(file, rest).await.map_err(file_error)?;
    Ok(planned.display_name())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileQuery {
    file: String,
}

pub(super) async fn text(
    State(app): State<App>,
    which: Result<Query<FileQuery>, QueryRejection>,
) -> Result<Json<dto::FileDto>, ApiError> {
    let Query(FileQuery { file: name }) =
        which.map_err(|_| ApiError::malformed("ask with `?file=routines/NAME.md`."))?;
    let text = app.ports().job_files.text(parse_file(&name)?).await.map_err(file_error)?;
    Ok(Json(dto::FileDto { file: name, text }))
}

/// Request to replace a file's text; `before` is the text that was edited.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RewriteRequest {
    file: String,
    before: String,
    text: String,
}

pub(super) async fn rewrite(
    State(app): State<App>,
    request: Request,
) -> Result<Json<CommandResponse>, ApiError> {
    let RewriteRequest { file: name, before, text } = read_body(&app, request, MAX_BODY_BYTES * 4).await?;
    app.ports().job_files.rewrite(parse_file(&name)?, before, text).await.map_err(file_error)?;
    Ok(to_reply(format!("{name} is saved.")))
}

/// Request to check a text without saving it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckRequest {
    file: String,
    text: String,
}

/// Number of next times returned.
const SHOWN_TIMES: usize = 5;

/// Returns when a job would run with this text, without changing the file.
pub(super) async fn check(State(app): State<App>, request: Request) -> Result<Json<dto::CheckDto>, ApiError> {
    let CheckRequest { file: name, text } = read_body(&app, request, MAX_BODY_BYTES * 4).await?;
    let what = app.ports().job_files.check(parse_file(&name)?, text).await.map_err(file_error)?;
    let now = app.ports().clock.now();
    let (when, rest) = match &what {
        JobSpec::Routine(routine) => (routine.recurrence.describe(), routine.firing_policy.pause),
        JobSpec::Reminder(reminder) => ("once".to_owned(), reminder.firing_policy.pause),
    };
    let after = |at: &Timestamp| match &what {
        JobSpec::Routine(routine) => routine.recurrence.next(*at, now.time_zone()),
        JobSpec::Reminder(_) => None,
    };
    let first = match &what {
        JobSpec::Routine(_) => after(&now.timestamp()),
        JobSpec::Reminder(reminder) => Some(reminder.run_at.at).filter(|at| *at > now.timestamp()),
    };
    let next =
        std::iter::successors(first, after).take(SHOWN_TIMES).map(|at| TimeDto::new(at, &now)).collect();
    Ok(Json(dto::CheckDto { when, rests: rest.covers(now.timestamp()), next }))
}

pub(super) fn parse_file(name: &str) -> Result<JobFile, ApiError> {
    JobFile::parse(name).ok_or_else(|| {
        ApiError::malformed(format!(
            "`{name}` is no job file. write `routines/NAME.md` or `reminders/NAME.md`."
        ))
    })
}

pub(in crate::web) fn file_error(unchanged: JobFileError) -> ApiError {
    let text = unchanged.to_string();
    match unchanged {
        JobFileError::Missing(_) => ApiError::new(StatusCode::NOT_FOUND, "missing", text),
        JobFileError::Conflict(_) => ApiError::new(StatusCode::CONFLICT, "changed", text),
        JobFileError::Invalid(_) => ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-file", text),
        JobFileError::Io(_) => ApiError::internal(text),
    }
}
