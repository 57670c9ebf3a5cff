//! Pending updates that main has not read, as JSON for the page and the command line.

use axum::Json;
use axum::extract::{Request, State};
use domain::assistant::{Answer, InboxCommand, Request as Ask};
use domain::pending_update::{PendingUpdate, UpdateId};
use serde::{Deserialize, Serialize};

use super::App;
use super::api::{MAX_BODY_BYTES, unexpected_answer};
use super::api_error::ApiError;
use super::dto::CommandResponse;

pub(super) async fn show(State(app): State<App>) -> Result<Json<PendingUpdatesDto>, ApiError> {
    let reports =
        app.ports().archive.reports().await.map_err(|unreadable| ApiError::internal(unreadable.0))?;
    Ok(Json(PendingUpdatesDto::from(reports.as_slice())))
}

/// Request to mark an update as read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkReadRequest {
    id: u64,
}

/// Marks an update as read by the user, so main does not get it.
pub(super) async fn mark_read(
    State(app): State<App>,
    request: Request,
) -> Result<Json<CommandResponse>, ApiError> {
    let MarkReadRequest { id } = super::api::read_body(&app, request, MAX_BODY_BYTES).await?;
    let answer = app.ports().assistant.ask(Ask::Inbox(InboxCommand::DismissUpdate(UpdateId(id)))).await;
    let Answer::Text(text) = answer else { return Err(unexpected_answer(answer)) };
    Ok(Json(CommandResponse { ok: true, text: Some(text), turn: None }))
}

/// Pending updates, oldest first.
#[derive(Serialize)]
pub struct PendingUpdatesDto {
    updates: Vec<PendingUpdateDto>,
}

/// One update with its time and source.
#[derive(Serialize)]
struct PendingUpdateDto {
    id: u64,
    at: String,
    from: String,
    text: String,
}

impl From<&[PendingUpdate]> for PendingUpdatesDto {
    fn from(reports: &[PendingUpdate]) -> Self {
        let update = |report: &PendingUpdate| PendingUpdateDto {
            id: report.id.0,
            at: report.at.to_string(),
            from: report.source.clone(),
            text: report.text.clone(),
        };
        Self { updates: reports.iter().map(update).collect() }
    }
}
