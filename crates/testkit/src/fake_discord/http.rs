//! Serves a fake Discord on a port, with HTTP and WebSocket, for real clients.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body as HttpBody;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{RawQuery, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::api::{ApiReply, ApiRequest, ApiResponse, Body};
use super::gateway::SocketEvent;
use super::socket::GatewaySocket;
use super::{FakeDiscord, multipart};

/// The maximum size of a request.
const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// A running server. Dropping it ends all connections.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

/// Marks a response for which the connection is to break instead.
#[derive(Clone, Copy)]
struct BreakConnection;

#[derive(Clone)]
struct ServerContext {
    discord: FakeDiscord,
    stop: CancellationToken,
}

/// Serves `discord` on `listener`.
pub fn serve(discord: FakeDiscord, listener: TcpListener) -> std::io::Result<Server> {
    let address = listener.local_addr()?;
    discord.update(|state| state.address = address.to_string());
    let stop = CancellationToken::new();
    let context = ServerContext { discord, stop: stop.clone() };
    let routes = Router::new()
        .route("/gw", get(handle_gateway))
        .route("/gw/", get(handle_gateway))
        .fallback(handle_rest)
        .with_state(context);
    let mut tasks = JoinSet::new();
    tasks.spawn(accept(listener, routes, stop.clone()));
    Ok(Server { address, stop, tasks })
}

impl Server {
    /// Returns the base URL for a client, without `/api/v10`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes the port and waits until all connections have ended.
    pub async fn stop(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn accept(listener: TcpListener, routes: Router, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    let _ = socket.set_nodelay(true);
                    connections.spawn(serve_connection(socket, routes.clone()));
                }
                Err(_) => break,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    connections.shutdown().await;
}

/// Serves one connection. A lost reply is an error of the service, which makes hyper break the
/// connection.
async fn serve_connection(socket: TcpStream, routes: Router) {
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let routes = routes.clone();
        async move {
            let response = match routes.oneshot(request.map(HttpBody::new)).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            match response.extensions().get::<BreakConnection>() {
                Some(BreakConnection) => Err(std::io::Error::other("the line is to break")),
                None => Ok(response),
            }
        }
    });
    // A client that disconnects early is not an error.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).with_upgrades().await;
}

fn break_connection() -> Response {
    let mut response = StatusCode::SERVICE_UNAVAILABLE.into_response();
    response.extensions_mut().insert(BreakConnection);
    response
}

async fn handle_rest(State(context): State<ServerContext>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, MAX_REQUEST_BYTES).await else {
        return http_response(error_response(
            413,
            r#"{"message": "Request entity too large", "code": 40005}"#,
        ));
    };
    let Some(body) = parse_body(&head.headers, &bytes) else {
        return http_response(error_response(
            400,
            r#"{"message": "The request body contains invalid JSON.", "code": 50109}"#,
        ));
    };
    let token = head.headers.get(header::AUTHORIZATION).and_then(|token| token.to_str().ok());
    let call = ApiRequest {
        method: head.method.to_string(),
        path: head.uri.to_string(),
        token: token.map(str::to_owned),
        body,
    };
    let reply = context.discord.request(call);
    match context.stop.run_until_cancelled(reply.wait()).await {
        Some(ApiReply::Response(answered)) => http_response(answered),
        Some(ApiReply::Lost) | None => break_connection(),
    }
}

fn parse_body(headers: &HeaderMap, bytes: &[u8]) -> Option<Body> {
    if bytes.is_empty() {
        return Some(Body::Empty);
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("multipart/form-data") {
        multipart::parse(kind, bytes)
    } else {
        serde_json::from_slice(bytes).ok().map(Body::Json)
    }
}

fn error_response(status: u16, body: &str) -> ApiResponse {
    let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    ApiResponse { status, headers, body: body.as_bytes().to_vec() }
}

fn http_response(answer: ApiResponse) -> Response {
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    response.body(HttpBody::from(answer.body)).unwrap_or_else(|_| break_connection())
}

async fn handle_gateway(
    State(context): State<ServerContext>,
    RawQuery(query): RawQuery,
    upgrade: WebSocketUpgrade,
) -> Response {
    match context.discord.connect(&query.unwrap_or_default()) {
        Ok(connection) => upgrade.on_upgrade(move |socket| forward_frames(socket, connection, context.stop)),
        Err(_) => break_connection(),
    }
}

/// Forwards frames between a WebSocket and its gateway connection until one of them ends.
async fn forward_frames(mut socket: WebSocket, mut connection: GatewaySocket, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            incoming = connection.next() => match incoming {
                SocketEvent::Text(text) => {
                    if socket.send(Message::Text(text.into())).await.is_err() {
                        return;
                    }
                }
                SocketEvent::Closed(code) => {
                    let frame = CloseFrame { code, reason: "".into() };
                    let _ = socket.send(Message::Close(Some(frame))).await;
                    let drained = async { while let Some(Ok(_)) = socket.recv().await {} };
                    stop.run_until_cancelled(drained).await;
                    return;
                }
                SocketEvent::Dropped => return,
            },
            received = socket.recv() => match received {
                Some(Ok(Message::Text(text))) => connection.send(&text),
                Some(Ok(Message::Binary(bytes))) => connection.send(&String::from_utf8_lossy(&bytes)),
                Some(Ok(Message::Close(frame))) => {
                    return connection.close(frame.map_or(1005, |frame| frame.code));
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Err(_)) | None => return,
            },
        }
    }
}
