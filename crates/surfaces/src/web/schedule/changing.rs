//! Changes the schedule by editing the job files, which define it.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use domain::schedule::{Moment, Rest, What};
use jiff::Timestamp;
use serde::Deserialize;

use super::wire::TimeWire;
use super::{Named, job, plans, told, wire};
use crate::web::App;
use crate::web::api::{BODY_BYTES, read};
use crate::web::job_files::{JobFile, Unchanged};
use crate::web::refusal::Refusal;
use crate::web::wire::Obeyed;

/// Request to pause a job, until a time or indefinitely.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pause {
    job: String,
    until: Option<String>,
}

pub(super) async fn pause(State(app): State<App>, request: Request) -> Result<Json<Obeyed>, Refusal> {
    let Pause { job, until } = read(&app, request, BODY_BYTES).await?;
    let now = app.ports().clock.now();
    let rest = match until {
        None => Rest::ForNow,
        Some(text) => {
            let moment = Moment::parse(&text, now.time_zone());
            let moment = moment.ok().filter(|moment| moment.at > now.timestamp());
            Rest::Until(moment.ok_or_else(|| {
                let words = format!("`{text}` is no time to come. write it like `2026-11-20T09:00`.");
                Refusal::refused(words)
            })?)
        }
    };
    rests(&app, &job, rest).await.map(|name| told(format!("{name} is paused.")))
}

pub(super) async fn resume(State(app): State<App>, request: Request) -> Result<Json<Obeyed>, Refusal> {
    let Named { job } = read(&app, request, BODY_BYTES).await?;
    rests(&app, &job, Rest::Never).await.map(|name| told(format!("{name} goes on.")))
}

/// Writes the pause into the file of a job and returns the job's name.
async fn rests(app: &App, name: &str, rest: Rest) -> Result<String, Refusal> {
    let source = job(name)?;
    let plans = plans(app).await?;
    let plan = plans.agenda.get(&source);
    let planned = &plan.ok_or_else(|| Refusal::refused(format!("{source} is not planned.")))?.planned;
    let file = file(&planned.file)?;
    app.ports().job_files.rest(file, rest).await.map_err(unchanged)?;
    Ok(planned.name())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    file: String,
}

pub(super) async fn text(
    State(app): State<App>,
    which: Result<Query<Which>, QueryRejection>,
) -> Result<Json<wire::FileWire>, Refusal> {
    let Query(Which { file: name }) =
        which.map_err(|_| Refusal::malformed("ask with `?file=routines/NAME.md`."))?;
    let text = app.ports().job_files.text(file(&name)?).await.map_err(unchanged)?;
    Ok(Json(wire::FileWire { file: name, text }))
}

/// Request to replace a file's text; `before` is the text that was edited.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rewrite {
    file: String,
    before: String,
    text: String,
}

pub(super) async fn rewrite(State(app): State<App>, request: Request) -> Result<Json<Obeyed>, Refusal> {
    let Rewrite { file: name, before, text } = read(&app, request, BODY_BYTES * 4).await?;
    app.ports().job_files.rewrite(file(&name)?, before, text).await.map_err(unchanged)?;
    Ok(told(format!("{name} is saved.")))
}

/// Request to check a text without saving it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Draft {
    file: String,
    text: String,
}

/// Number of next times returned.
const NEXT: usize = 5;

/// Returns when a job would run with this text, without changing the file.
pub(super) async fn check(
    State(app): State<App>,
    request: Request,
) -> Result<Json<wire::CheckedWire>, Refusal> {
    let Draft { file: name, text } = read(&app, request, BODY_BYTES * 4).await?;
    let what = app.ports().job_files.check(file(&name)?, text).await.map_err(unchanged)?;
    let now = app.ports().clock.now();
    let (when, rest) = match &what {
        What::Routine(routine) => (routine.rhythm.tell(), routine.manner.rest),
        What::Reminder(reminder) => ("once".to_owned(), reminder.manner.rest),
    };
    let after = |at: &Timestamp| match &what {
        What::Routine(routine) => routine.rhythm.next(*at, now.time_zone()),
        What::Reminder(_) => None,
    };
    let first = match &what {
        What::Routine(_) => after(&now.timestamp()),
        What::Reminder(reminder) => Some(reminder.run_at.at).filter(|at| *at > now.timestamp()),
    };
    let next = std::iter::successors(first, after).take(NEXT).map(|at| TimeWire::new(at, &now)).collect();
    Ok(Json(wire::CheckedWire { when, rests: rest.holds(now.timestamp()), next }))
}

pub(super) fn file(name: &str) -> Result<JobFile, Refusal> {
    JobFile::parse(name).ok_or_else(|| {
        Refusal::malformed(format!(
            "`{name}` is no job file. write `routines/NAME.md` or `reminders/NAME.md`."
        ))
    })
}

pub(in crate::web) fn unchanged(unchanged: Unchanged) -> Refusal {
    let text = unchanged.to_string();
    match unchanged {
        Unchanged::Missing(_) => Refusal::new(StatusCode::NOT_FOUND, "missing", text),
        Unchanged::Moved(_) => Refusal::new(StatusCode::CONFLICT, "changed", text),
        Unchanged::Bad(_) => Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-file", text),
        Unchanged::Failed(_) => Refusal::broken(text),
    }
}
