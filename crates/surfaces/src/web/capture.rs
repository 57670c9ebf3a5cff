//! Captures text: plans it, or stores it in the inbox if it contains no time.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::Json;
use axum::extract::{Request, State};
use domain::assistant::{Answer, Planning, Replanned, Request as Ask};
use serde::{Deserialize, Serialize};

use super::App;
use super::api::{BODY_BYTES, read, unexpected};
use super::refusal::Refusal;
use super::schedule::plans;
use super::wire::Obeyed;

/// Text of the user.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Captured {
    text: String,
}

/// The reply, and the token that undoes the change.
#[derive(Serialize)]
pub(super) struct CaughtWire {
    ok: bool,
    text: String,
    undo: Option<String>,
}

pub(super) async fn capture(State(app): State<App>, request: Request) -> Result<Json<CaughtWire>, Refusal> {
    let Captured { text } = read(&app, request, BODY_BYTES).await?;
    let before = plans(&app).await?;
    let text = change(&app, Planning::Capture(text)).await?;
    let undo = plans(&app).await?.made_since(&before).map(mark);
    Ok(Json(CaughtWire { ok: true, text, undo }))
}

/// Changes the schedule or inbox and returns the reply.
async fn change(app: &App, planning: Planning) -> Result<String, Refusal> {
    let answer = app.ports().desk.ask(Ask::Plan(planning)).await;
    let Answer::Told(text) = answer else { return Err(unexpected(answer)) };
    Ok(text)
}

/// Returns a token that identifies this change.
fn mark(changed: &Replanned) -> String {
    let mut hasher = DefaultHasher::new();
    format!("{changed:?}").hash(&mut hasher);
    format!("plan:{:016x}", hasher.finish())
}

/// Request to undo a change.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Undo {
    undo: String,
}

pub(super) async fn undo(State(app): State<App>, request: Request) -> Result<Json<Obeyed>, Refusal> {
    let Undo { undo } = read(&app, request, BODY_BYTES).await?;
    let plans = plans(&app).await?;
    if plans.last().is_none_or(|last| mark(last) != undo) {
        let words = "something else was changed since then. say what you want back, like `cancel dentist`.";
        return Err(Refusal::refused(words));
    }
    change(&app, Planning::Words("undo".to_owned())).await.map(told)
}

/// Action on an inbox item.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Sorted {
    /// It is done.
    Drop { id: u64 },
    /// It becomes a reminder at this time.
    Plan { id: u64, when: String },
}

pub(super) async fn sort(State(app): State<App>, request: Request) -> Result<Json<Obeyed>, Refusal> {
    let words = match read(&app, request, BODY_BYTES).await? {
        Sorted::Drop { id } => format!("done inbox:{id}"),
        Sorted::Plan { id, when } => format!("move inbox:{id} to {when}"),
    };
    change(&app, Planning::Words(words)).await.map(told)
}

fn told(text: String) -> Json<Obeyed> {
    Json(Obeyed { ok: true, text: Some(text), turn: None })
}
