//! Pending updates that main has not read, as JSON for the page and the command line.

use axum::Json;
use axum::extract::{Request, State};
use domain::assistant::{Answer, Request as Ask, Shelf};
use domain::report::{Report, ReportId};
use serde::{Deserialize, Serialize};

use super::App;
use super::api::{BODY_BYTES, unexpected};
use super::refusal::Refusal;
use super::wire::Obeyed;

pub(super) async fn show(State(app): State<App>) -> Result<Json<UpdatesWire>, Refusal> {
    let reports = app.ports().archive.reports().await.map_err(|unreadable| Refusal::broken(unreadable.0))?;
    Ok(Json(UpdatesWire::from(reports.as_slice())))
}

/// Request to mark an update as read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadWire {
    id: u64,
}

/// Marks an update as read by the user, so main does not get it.
pub(super) async fn read(State(app): State<App>, request: Request) -> Result<Json<Obeyed>, Refusal> {
    let ReadWire { id } = super::api::read(&app, request, BODY_BYTES).await?;
    let answer = app.ports().desk.ask(Ask::Inbox(Shelf::Read(ReportId(id)))).await;
    let Answer::Told(text) = answer else { return Err(unexpected(answer)) };
    Ok(Json(Obeyed { ok: true, text: Some(text), turn: None }))
}

/// Pending updates, oldest first.
#[derive(Serialize)]
pub struct UpdatesWire {
    updates: Vec<UpdateWire>,
}

/// One update with its time and source.
#[derive(Serialize)]
struct UpdateWire {
    id: u64,
    at: String,
    from: String,
    text: String,
}

impl From<&[Report]> for UpdatesWire {
    fn from(reports: &[Report]) -> Self {
        let update = |report: &Report| UpdateWire {
            id: report.id.0,
            at: report.at.to_string(),
            from: report.from.clone(),
            text: report.text.clone(),
        };
        Self { updates: reports.iter().map(update).collect() }
    }
}
