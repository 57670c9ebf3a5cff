//! General endpoints of the API: pairing, commands, devices, health.

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use domain::assistant::{Answer, Question, Rein, Request as Ask};
use domain::compaction::Room;
use domain::record::SurfaceName;
use engine::commands::obey;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::devices::Device;
use super::gate::{Door, Through, cookie};
use super::refusal::Refusal;
use super::secret::Secret;
use super::wire;
use super::{App, Ports};

/// Default limit of a request body in bytes.
pub const BODY_BYTES: usize = 1024 * 1024;
/// Limit of the body of small requests, such as those of unpaired clients, in bytes.
const PAIR_BYTES: usize = 1024;
/// Maximum length of a stored device label in characters.
const LABEL_CHARS: usize = 120;

pub(super) async fn pair(
    State(app): State<App>,
    Extension(through): Extension<Through>,
    request: Request,
) -> Result<Response, Refusal> {
    let socket = match &through.door {
        Door::Tcp(socket) => socket,
        Door::Unix => return Err(Refusal::malformed("only a browser can be paired, and this is none.")),
    };
    let label = label(request.headers());
    let wire::PairWith { code } = read(&app, request, PAIR_BYTES).await?;
    socket.answering();
    // A right code is accepted regardless of failures before: with 128 random bits it cannot be
    // guessed, and a program that sends wrong ones must not lock the user out.
    if let Err(bad) = app.pairing().redeem(code.trim()) {
        if app.pairing_attempts().is_over(socket.address) {
            return Err(Refusal::too_many());
        }
        app.pairing_attempts().failed(socket.address);
        return Err(Refusal::new(StatusCode::FORBIDDEN, "bad-code", bad.to_string()));
    }
    let credential = Secret::mint().map_err(|error| Refusal::broken(error.to_string()))?;
    let digest = credential.digest();
    let paired = app.ports().clock.now().timestamp();
    let id = digest.short();
    let device = Device { id: id.clone(), label, credential: digest, paired };
    app.ports().devices.add(device).await.map_err(|unkept| Refusal::broken(unkept.0))?;
    // If there is no capacity, the connection stays unproven; the cookie is valid all the same.
    let _ = socket.welcome(&id);
    let cookie = cookie(socket.port, credential.reveal())?;
    Ok(([(header::SET_COOKIE, cookie)], Json(wire::Done { ok: true })).into_response())
}

pub(super) async fn pairings(
    State(app): State<App>,
    Extension(through): Extension<Through>,
    request: Request,
) -> Result<Json<wire::PairLink>, Refusal> {
    match through.door {
        Door::Tcp(_) => {
            let message =
                "a browser cannot invite another one: run `ollim-bot open` and use the link it prints.";
            return Err(Refusal::new(StatusCode::FORBIDDEN, "command-line-only", message));
        }
        Door::Unix => {}
    }
    let wire::Nothing {} = read(&app, request, PAIR_BYTES).await?;
    let page = app.ports().vitals.health().await.page;
    if page.is_empty() {
        let message = "The page is off because its port can't be used. `ollim-bot status` shows what is on.";
        return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "page-off", message));
    }
    let link = app.pairing().link(&page).map_err(|error| Refusal::broken(error.to_string()))?;
    Ok(Json(wire::PairLink { ok: true, link }))
}

/// Executes a command, which behaves the same on every surface.
pub(super) async fn command(
    State(app): State<App>,
    Extension(through): Extension<Through>,
    request: Request,
) -> Result<Json<wire::Obeyed>, Refusal> {
    let wire::Command { text } = read(&app, request, BODY_BYTES).await?;
    let obeyed = |text, turn| Ok(Json(wire::Obeyed { ok: true, text, turn }));
    let Ports { desk, archive, clock, .. } = app.ports();
    match obey((surface(&through), &text), desk, archive.as_ref(), clock.now()).await {
        Answer::Told(text) => obeyed(Some(text), None),
        Answer::Begun(turn) => obeyed(None, Some(turn.0)),
        Answer::Noted => obeyed(None, None),
        answer @ (Answer::Heard(_)
        | Answer::Decided(_)
        | Answer::Results(_)
        | Answer::Plans(_)
        | Answer::Numbers(_)
        | Answer::Attention(_)
        | Answer::Overspent(_)
        | Answer::Shown(_)
        | Answer::Refused(_)) => Err(unexpected(answer)),
    }
}

pub(super) async fn stop(State(app): State<App>, request: Request) -> Result<Json<wire::Done>, Refusal> {
    let wire::Nothing {} = read(&app, request, PAIR_BYTES).await?;
    let answer = app.ports().desk.ask(Ask::Rein(Rein::Stop)).await;
    let Answer::Noted = answer else { return Err(unexpected(answer)) };
    Ok(Json(wire::Done { ok: true }))
}

/// Returns how full the context window of the current conversation is.
pub(super) async fn context(State(app): State<App>) -> Result<Json<wire::ContextWire>, Refusal> {
    let answer = app.ports().desk.ask(Ask::Tell(Question::Numbers)).await;
    let Answer::Numbers(numbers) = answer else { return Err(unexpected(answer)) };
    let Room { limit, percent } = numbers.room;
    Ok(Json(wire::ContextWire { tokens: numbers.filled, limit, compacts: limit / 100 * percent }))
}

pub(super) async fn health(State(app): State<App>) -> Json<wire::HealthWire> {
    Json(app.ports().vitals.health().await.into())
}

pub(super) async fn devices(State(app): State<App>) -> Result<Json<wire::DeviceList>, Refusal> {
    let devices = app.ports().devices.list().await.map_err(|unkept| Refusal::broken(unkept.0))?;
    Ok(Json(wire::DeviceList { devices: devices.iter().map(wire::DeviceWire::from).collect() }))
}

pub(super) async fn forget(State(app): State<App>, request: Request) -> Result<Json<wire::Done>, Refusal> {
    let wire::DeviceName { id } = read(&app, request, PAIR_BYTES).await?;
    app.forget(&id).await.map_err(|unkept| Refusal::broken(unkept.0))?;
    Ok(Json(wire::Done { ok: true }))
}

/// Reads and parses the body of `request`, of at most `limit` bytes, within the timeout.
pub(super) async fn read<T: DeserializeOwned>(
    app: &App,
    request: Request<Body>,
    limit: usize,
) -> Result<T, Refusal> {
    if usize::try_from(request.body().size_hint().lower()).unwrap_or(usize::MAX) > limit {
        return Err(Refusal::too_large(limit));
    }
    let whole = Limited::new(request.into_body(), limit).collect();
    let bytes = match tokio::time::timeout(app.limits().body, whole).await {
        Ok(Ok(whole)) => whole.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(Refusal::too_large(limit)),
        Ok(Err(_)) => return Err(Refusal::malformed("the request broke off in the middle. send it again.")),
        Err(_) => {
            let message = "the request took too long to arrive. send it again.";
            return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "too-slow", message));
        }
    };
    serde_json::from_slice(&bytes)
        .map_err(|error| Refusal::malformed(format!("the body is not the JSON this address takes: {error}.")))
}

/// Returns the surface of a connection.
pub(super) fn surface(through: &Through) -> SurfaceName {
    match through.door {
        Door::Tcp(_) => SurfaceName::Page,
        Door::Unix => SurfaceName::Terminal,
    }
}

/// Returns the user agent, truncated for lists.
fn label(headers: &HeaderMap) -> String {
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    agent.unwrap_or("a browser").chars().take(LABEL_CHARS).collect()
}

/// Converts an answer of an unexpected type, usually a refusal.
pub(super) fn unexpected(answer: Answer) -> Refusal {
    match answer {
        Answer::Refused(reason) => Refusal::refused(reason),
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
        | Answer::Shown(_) => {
            Refusal::broken("the assistant answered something else than was asked. say it again.")
        }
    }
}
