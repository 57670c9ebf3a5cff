//! Capture: words that are planned, or kept if there is no time in them; never lost, and told as they are stored.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::Json;
use axum::extract::{Request, State};
use domain::assistant::{Answer, Planning, Replanned, Request as Ask, Shelf};
use domain::brain::{Meant, read as meant};
use domain::inbox::{Kept, KeptId};
use domain::phrase::{Habits, LONGEST, Note};
use jiff::Zoned;
use serde::{Deserialize, Serialize};

use super::App;
use super::api::{BODY_BYTES, read, unexpected};
use super::attention::habits;
use super::refusal::Refusal;
use super::schedule::plans;
use super::wire::Obeyed;

/// Words of the human.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Captured {
    text: String,
}

/// What became of them, and what takes it back.
#[derive(Serialize)]
pub(super) struct CaughtWire {
    ok: bool,
    text: String,
    undo: Option<String>,
}

pub(super) async fn capture(State(app): State<App>, request: Request) -> Result<Json<CaughtWire>, Refusal> {
    let Captured { text } = read(&app, request, BODY_BYTES).await?;
    let habits = habits(&app).await?;
    match kept(&text, &app.ports().clock.now(), &habits) {
        Some(words) => keep(&app, words).await,
        None => plan(&app, text).await,
    }
}

/// What of `text` goes to the inbox: nothing, if it plans or changes something.
fn kept(text: &str, now: &Zoned, habits: &Habits) -> Option<String> {
    let trouble = |notes: &[Note]| notes.iter().any(Note::is_trouble);
    if text.len() > LONGEST {
        return Some(text.to_owned());
    }
    match meant(text, now, habits) {
        Meant::Keep(words) => Some(words),
        Meant::Talk(_) | Meant::Status => Some(text.to_owned()),
        Meant::Unclear(notes) => (!trouble(&notes)).then(|| text.to_owned()),
        Meant::Plan(reading) if reading.when.is_none() => (!trouble(&reading.notes)).then(|| text.to_owned()),
        Meant::Plan(_) | Meant::List(_) | Meant::Done(_) | Meant::Move { .. } => None,
        Meant::Cancel(_) | Meant::Undo | Meant::Pause(_) | Meant::Resume => None,
    }
}

async fn plan(app: &App, text: String) -> Result<Json<CaughtWire>, Refusal> {
    let before = plans(app).await?.last;
    let answer = app.ports().desk.ask(Ask::Plan(Planning::Words(text))).await;
    let Answer::Told(text) = answer else { return Err(unexpected(answer)) };
    let last = plans(app).await?.last;
    let undo = last.filter(|last| before.as_ref() != Some(last)).map(|last| mark(&last));
    Ok(Json(CaughtWire { ok: true, text, undo }))
}

async fn keep(app: &App, text: String) -> Result<Json<CaughtWire>, Refusal> {
    let words = text.trim().to_owned();
    let answer = app.ports().desk.ask(Ask::Inbox(Shelf::Keep(text))).await;
    let Answer::Told(_) = answer else { return Err(unexpected(answer)) };
    let stored = newest(app, |kept| kept.text == words).await?;
    let short: String = stored.text.chars().take(80).collect();
    let text = format!("kept in the inbox: {short}");
    Ok(Json(CaughtWire { ok: true, text, undo: Some(format!("inbox:{}", stored.id.0)) }))
}

/// What takes this change back, and no other one.
fn mark(changed: &Replanned) -> String {
    let mut hasher = DefaultHasher::new();
    format!("{changed:?}").hash(&mut hasher);
    format!("plan:{:016x}", hasher.finish())
}

/// Something that is taken back.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Undo {
    undo: String,
}

pub(super) async fn undo(State(app): State<App>, request: Request) -> Result<Json<Obeyed>, Refusal> {
    let Undo { undo } = read(&app, request, BODY_BYTES).await?;
    if let Some(id) = undo.strip_prefix("inbox:").and_then(|id| id.parse().ok()) {
        return remove(&app, KeptId(id)).await.map(|()| told("taken out of the inbox.".to_owned()));
    }
    let last = plans(&app).await?.last;
    if last.is_none_or(|last| mark(&last) != undo) {
        let words = "something else was changed since then. say what you want back, like `cancel dentist`.";
        return Err(Refusal::refused(words));
    }
    let answer = app.ports().desk.ask(Ask::Plan(Planning::Words("undo".to_owned()))).await;
    let Answer::Told(text) = answer else { return Err(unexpected(answer)) };
    Ok(told(text))
}

/// What is done with something in the inbox.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Sorted {
    /// It is not needed any more.
    Drop { id: u64 },
    /// It is needed then.
    Plan { id: u64, when: String },
}

pub(super) async fn sort(State(app): State<App>, request: Request) -> Result<Json<Obeyed>, Refusal> {
    match read(&app, request, BODY_BYTES).await? {
        Sorted::Drop { id } => remove(&app, KeptId(id)).await.map(|()| told("dropped.".to_owned())),
        Sorted::Plan { id, when } => {
            let text = newest(&app, |kept| kept.id.0 == id).await?.text;
            let answer = app.ports().desk.ask(Ask::Plan(Planning::Remind(text, when))).await;
            let Answer::Told(text) = answer else { return Err(unexpected(answer)) };
            remove(&app, KeptId(id)).await?;
            Ok(told(text))
        }
    }
}

/// The newest thing in the inbox that is `wanted`.
async fn newest(app: &App, wanted: impl Fn(&Kept) -> bool) -> Result<Kept, Refusal> {
    let inbox = app.ports().history.inbox().await.map_err(|unreadable| Refusal::broken(unreadable.0))?;
    let found = inbox.into_iter().rev().find(|kept| wanted(kept));
    found.ok_or_else(|| Refusal::refused("that is not in the inbox any more."))
}

async fn remove(app: &App, id: KeptId) -> Result<(), Refusal> {
    let answer = app.ports().desk.ask(Ask::Inbox(Shelf::Remove(id))).await;
    let (Answer::Told(_) | Answer::Noted) = answer else { return Err(unexpected(answer)) };
    Ok(())
}

fn told(text: String) -> Json<Obeyed> {
    Json(Obeyed { ok: true, text: Some(text), turn: None })
}
