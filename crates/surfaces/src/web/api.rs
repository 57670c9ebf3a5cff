//! General endpoints of the API: pairing, commands, devices, health.

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use domain::assistant::{Answer, Query, Request as Ask, TurnCommand};
use domain::compaction::ContextWindow;
use domain::record::SurfaceName;
use engine::commands::execute;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::api_error::ApiError;
use super::authentication::{Connection, Transport, device_cookie};
use super::devices::Device;
use super::dto;
use super::secret::Secret;
use super::{App, WebPorts};

/// Default limit of a request body in bytes.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;
/// Limit of the body of small requests, such as those of unpaired clients, in bytes.
const MAX_SMALL_BODY_BYTES: usize = 1024;
/// Maximum length of a stored device label in characters.
const MAX_LABEL_CHARS: usize = 120;

pub(super) async fn pair(
    State(app): State<App>,
    Extension(connection): Extension<Connection>,
    request: Request,
) -> Result<Response, ApiError> {
    let socket = match &connection.transport {
        Transport::Tcp(socket) => socket,
        Transport::Unix => {
            return Err(ApiError::malformed("only a browser can be paired, and this is none."));
        }
    };
    let label = device_label(request.headers());
    let dto::PairRequest { code } = read_body(&app, request, MAX_SMALL_BODY_BYTES).await?;
    socket.mark_answering();
    // A right code is accepted regardless of failures before: with 128 random bits it cannot be
    // guessed, and a program that sends wrong ones must not lock the user out.
    if let Err(bad) = app.pairing().redeem(code.trim()) {
        if app.pairing_attempts().is_blocked(socket.address) {
            return Err(ApiError::too_many_attempts());
        }
        app.pairing_attempts().record_failure(socket.address);
        return Err(ApiError::new(StatusCode::FORBIDDEN, "bad-code", bad.to_string()));
    }
    let credential = Secret::generate().map_err(|error| ApiError::internal(error.to_string()))?;
    let digest = credential.digest();
    let paired = app.ports().clock.now().timestamp();
    let id = digest.short();
    let device = Device { id: id.clone(), label, credential: digest, paired };
    app.ports().devices.add(device).await.map_err(|unkept| ApiError::internal(unkept.0))?;
    // If there is no capacity, the connection stays unproven; the cookie is valid all the same.
    let _ = socket.set_device(&id);
    let cookie = device_cookie(socket.port, credential.reveal())?;
    Ok(([(header::SET_COOKIE, cookie)], Json(dto::OkResponse { ok: true })).into_response())
}

pub(super) async fn create_pairing_link(
    State(app): State<App>,
    Extension(connection): Extension<Connection>,
    request: Request,
) -> Result<Json<dto::PairLinkResponse>, ApiError> {
    match connection.transport {
        Transport::Tcp(_) => {
            let message =
                "a browser cannot invite another one: run `ollim-bot open` and use the link it prints.";
            return Err(ApiError::new(StatusCode::FORBIDDEN, "command-line-only", message));
        }
        Transport::Unix => {}
    }
    let dto::EmptyRequest {} = read_body(&app, request, MAX_SMALL_BODY_BYTES).await?;
    let page = app.ports().health_source.health().await.page;
    if page.is_empty() {
        let message = "The page is off because its port can't be used. `ollim-bot status` shows what is on.";
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "page-off", message));
    }
    let link = app.pairing().create_link(&page).map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(Json(dto::PairLinkResponse { ok: true, link }))
}

/// Executes a command, which behaves the same on every surface.
pub(super) async fn command(
    State(app): State<App>,
    Extension(connection): Extension<Connection>,
    request: Request,
) -> Result<Json<dto::CommandResponse>, ApiError> {
    let dto::CommandRequest { text } = read_body(&app, request, MAX_BODY_BYTES).await?;
    let obeyed = |text, turn| Ok(Json(dto::CommandResponse { ok: true, text, turn }));
    let WebPorts { assistant: desk, archive, clock, .. } = app.ports();
    match execute((surface_of(&connection), &text), desk, archive.as_ref(), clock.now()).await {
        Answer::Text(text) => obeyed(Some(text), None),
        Answer::TurnStarted(turn) => obeyed(None, Some(turn.0)),
        Answer::Done => obeyed(None, None),
        answer @ (Answer::MessageQueued(_)
        | Answer::Rulings(_)
        | Answer::Results(_)
        | Answer::Plans(_)
        | Answer::Numbers(_)
        | Answer::Attention(_)
        | Answer::OverBudget(_)
        | Answer::Shown(_)
        | Answer::Refused(_)) => Err(unexpected_answer(answer)),
    }
}

pub(super) async fn stop(
    State(app): State<App>,
    request: Request,
) -> Result<Json<dto::OkResponse>, ApiError> {
    let dto::EmptyRequest {} = read_body(&app, request, MAX_SMALL_BODY_BYTES).await?;
    let answer = app.ports().assistant.ask(Ask::Control(TurnCommand::Stop)).await;
    let Answer::Done = answer else { return Err(unexpected_answer(answer)) };
    Ok(Json(dto::OkResponse { ok: true }))
}

/// Returns how full the context window of the current conversation is.
pub(super) async fn context(State(app): State<App>) -> Result<Json<dto::ContextDto>, ApiError> {
    let answer = app.ports().assistant.ask(Ask::Query(Query::Numbers)).await;
    let Answer::Numbers(numbers) = answer else { return Err(unexpected_answer(answer)) };
    let ContextWindow { limit, fill_percent: percent } = numbers.window;
    Ok(Json(dto::ContextDto { tokens: numbers.context_tokens, limit, compacts: limit / 100 * percent }))
}

pub(super) async fn health(State(app): State<App>) -> Json<dto::HealthDto> {
    Json(app.ports().health_source.health().await.into())
}

pub(super) async fn devices(State(app): State<App>) -> Result<Json<dto::DeviceList>, ApiError> {
    let devices = app.ports().devices.list().await.map_err(|unkept| ApiError::internal(unkept.0))?;
    Ok(Json(dto::DeviceList { devices: devices.iter().map(dto::DeviceDto::from).collect() }))
}

pub(super) async fn remove_device(
    State(app): State<App>,
    request: Request,
) -> Result<Json<dto::OkResponse>, ApiError> {
    let dto::DeviceRequest { id } = read_body(&app, request, MAX_SMALL_BODY_BYTES).await?;
    app.remove_device(&id).await.map_err(|unkept| ApiError::internal(unkept.0))?;
    Ok(Json(dto::OkResponse { ok: true }))
}

/// Reads and parses the body of `request`, of at most `limit` bytes, within the timeout.
pub(super) async fn read_body<T: DeserializeOwned>(
    app: &App,
    request: Request<Body>,
    limit: usize,
) -> Result<T, ApiError> {
    if usize::try_from(request.body().size_hint().lower()).unwrap_or(usize::MAX) > limit {
        return Err(ApiError::too_large(limit));
    }
    let whole = Limited::new(request.into_body(), limit).collect();
    let bytes = match tokio::time::timeout(app.limits().body_timeout, whole).await {
        Ok(Ok(whole)) => whole.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(ApiError::too_large(limit)),
        Ok(Err(_)) => return Err(ApiError::malformed("the request broke off in the middle. send it again.")),
        Err(_) => {
            let message = "the request took too long to arrive. send it again.";
            return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "too-slow", message));
        }
    };
    serde_json::from_slice(&bytes).map_err(|error| {
        ApiError::malformed(format!("the body is not the JSON this address takes: {error}."))
    })
}

/// Returns the surface of a connection.
pub(super) fn surface_of(connection: &Connection) -> SurfaceName {
    match connection.transport {
        Transport::Tcp(_) => SurfaceName::Page,
        Transport::Unix => SurfaceName::Terminal,
    }
}

/// Returns the user agent, truncated for lists.
fn device_label(headers: &HeaderMap) -> String {
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    agent.unwrap_or("a browser").chars().take(MAX_LABEL_CHARS).collect()
}

/// Converts an answer of an unexpected type, usually a refusal.
pub(super) fn unexpected_answer(answer: Answer) -> ApiError {
    match answer {
        Answer::Refused(reason) => ApiError::rejected(reason),
        Answer::MessageQueued(_)
        | Answer::TurnStarted(_)
        | Answer::Rulings(_)
        | Answer::Done
        | Answer::Results(_)
        | Answer::Text(_)
        | Answer::Plans(_)
        | Answer::Numbers(_)
        | Answer::Attention(_)
        | Answer::OverBudget(_)
        | Answer::Shown(_) => {
            ApiError::internal("the assistant answered something else than was asked. say it again.")
        }
    }
}
