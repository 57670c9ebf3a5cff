//! Captures text: plans it, or stores it in the inbox if it contains no time.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::Json;
use axum::extract::{Request, State};
use domain::assistant::{Answer, Replanned, Request as Ask, ScheduleCommand};
use serde::{Deserialize, Serialize};

use super::App;
use super::api::{MAX_BODY_BYTES, read_body, unexpected_answer};
use super::api_error::ApiError;
use super::dto::CommandResponse;
use super::schedule::plans;

/// Text of the user.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaptureRequest {
    text: String,
}

/// The reply, and the token that undoes the change.
#[derive(Serialize)]
pub(super) struct CaptureDto {
    ok: bool,
    text: String,
    undo: Option<String>,
}

pub(super) async fn capture(State(app): State<App>, request: Request) -> Result<Json<CaptureDto>, ApiError> {
    let CaptureRequest { text } = read_body(&app, request, MAX_BODY_BYTES).await?;
    let before = plans(&app).await?;
    let text = change(&app, ScheduleCommand::Capture(text)).await?;
    let undo = plans(&app).await?.change_since(&before).map(undo_token);
    Ok(Json(CaptureDto { ok: true, text, undo }))
}

/// Changes the schedule or inbox and returns the reply.
async fn change(app: &App, planning: ScheduleCommand) -> Result<String, ApiError> {
    let answer = app.ports().assistant.ask(Ask::Schedule(planning)).await;
    let Answer::Text(text) = answer else { return Err(unexpected_answer(answer)) };
    Ok(text)
}

/// Returns a token that identifies this change.
fn undo_token(changed: &Replanned) -> String {
    let mut hasher = DefaultHasher::new();
    format!("{changed:?}").hash(&mut hasher);
    format!("plan:{:016x}", hasher.finish())
}

/// Request to undo a change.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UndoRequest {
    undo: String,
}

pub(super) async fn undo(
    State(app): State<App>,
    request: Request,
) -> Result<Json<CommandResponse>, ApiError> {
    let UndoRequest { undo } = read_body(&app, request, MAX_BODY_BYTES).await?;
    let plans = plans(&app).await?;
    if plans.last_change().is_none_or(|last| undo_token(last) != undo) {
        let words = "something else was changed since then. say what you want back, like `cancel dentist`.";
        return Err(ApiError::rejected(words));
    }
    change(&app, ScheduleCommand::PlanText("undo".to_owned())).await.map(to_reply)
}

/// Action on an inbox item.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum InboxAction {
    /// It is done.
    Drop { id: u64 },
    /// It becomes a reminder at this time.
    Plan { id: u64, when: String },
}

pub(super) async fn sort_inbox(
    State(app): State<App>,
    request: Request,
) -> Result<Json<CommandResponse>, ApiError> {
    let words = match read_body(&app, request, MAX_BODY_BYTES).await? {
        InboxAction::Drop { id } => format!("done inbox:{id}"),
        InboxAction::Plan { id, when } => format!("move inbox:{id} to {when}"),
    };
    change(&app, ScheduleCommand::PlanText(words)).await.map(to_reply)
}

fn to_reply(text: String) -> Json<CommandResponse> {
    Json(CommandResponse { ok: true, text: Some(text), turn: None })
}
