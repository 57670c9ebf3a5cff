//! A protected MCP server and its authorization server on loopback, each at its own origin.
//!
//! They refuse every request that violates a rule of the protocol's authorization chapter, and
//! record the reason in [`AuthState::refusals`], so that a test can assert that there was none. The
//! rules, with their sources:
//!
//! - The endpoint takes POST alone, and the headers repeat the body (MCP 2026-07-28, Streamable HTTP). `initialize` is an
//!   unsupported version (MCP 2026-07-28, Versioning).
//! - A request without a valid token is a 401 that names the resource metadata (MCP authorization; RFC 9728 section 5.1).
//!   An expired token is `invalid_token` (RFC 6750 section 3.1). Tokens are never accepted in the URL.
//! - The metadata of the resource and of the authorization server are where RFC 9728 section 3.1 and RFC 8414 section 3
//!   put them.
//! - Clients register as native ones without a secret, with a redirect to loopback (RFC 7591, RFC 8252; MCP
//!   authorization, application type).
//! - The authorization request has a registered client and its exact redirect address, PKCE with S256, a `state` and the
//!   `resource` (OAuth 2.1 sections 4.1.1 and 7.5; RFC 8707). An unknown client or redirect address is not redirected to.
//! - The response names the issuer (RFC 9207).
//! - A code is valid once, for the client, redirect address and resource that it was issued for, and with its verifier
//!   (OAuth 2.1 section 4.1.3).
//! - The refresh token of a public client is replaced at each use; reuse of an old one ends the sign-in (OAuth
//!   2.1 section 4.3.1).
//!
//! It shares no code with our client, so that each can catch mistakes of the other.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{Response, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::background_runtime::BackgroundRuntime;
use crate::google::{base64_url, parse_form};
use crate::scripted_replies::http_server::HttpServer;

/// The only scope.
const SCOPE: &str = "notes";
/// The protocol revision of the server.
const VERSION: &str = "2026-07-28";

/// The user's answer on the consent page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consent {
    /// The user agrees.
    #[default]
    Allow,
    /// The user refuses.
    Deny,
    /// The user agrees, and the response has the state of another sign-in.
    WrongState,
    /// The user agrees, and the response names another issuer.
    WrongIssuer,
    /// The user agrees, and the response names no issuer, although the metadata promises one.
    NoIssuer,
}

/// The state of both servers.
#[derive(Debug, Default)]
pub struct AuthState {
    /// The user's answer to the next authorization requests.
    pub consent: Consent,
    /// The valid access tokens.
    pub access_tokens: Vec<String>,
    /// The valid refresh tokens, with the client that each was issued for.
    pub refresh_tokens: BTreeMap<String, String>,
    /// The issuer ends with a slash, as with some real servers, while the resource metadata omits
    /// it.
    pub trailing_slash: bool,
    /// The reasons of refusals, in order. A request without a token is not recorded.
    pub refusals: Vec<String>,
    /// The forms of the token requests, in order.
    pub token_requests: Vec<BTreeMap<String, String>>,
    used_refresh_tokens: Vec<String>,
    clients: BTreeMap<String, String>,
    codes: BTreeMap<String, IssuedCode>,
    resource: String,
    origin: String,
    counter: u32,
}

/// An issued authorization code.
#[derive(Clone, Debug)]
struct IssuedCode {
    client: String,
    redirect: String,
    challenge: String,
}

impl AuthState {
    /// Invalidates every access token.
    pub fn expire(&mut self) {
        self.access_tokens.clear();
    }

    /// Revokes every token, as when the user removes the application from the account.
    pub fn revoke_all(&mut self) {
        self.access_tokens.clear();
        self.refresh_tokens.clear();
    }

    /// Returns every valid token.
    pub fn valid_tokens(&self) -> Vec<String> {
        self.access_tokens.iter().chain(self.refresh_tokens.keys()).cloned().collect()
    }

    fn issuer(&self) -> String {
        if self.trailing_slash { format!("{}/", self.origin) } else { self.origin.clone() }
    }

    fn record_refusal(&mut self, reason: impl Into<String>) {
        self.refusals.push(reason.into());
    }

    fn next_secret(&mut self, kind: &str) -> String {
        self.counter += 1;
        format!("{kind}-canary-{}", self.counter)
    }
}

type SharedState = Arc<Mutex<AuthState>>;

/// Both servers, running in a background thread. Dropping this stops them.
pub struct ProtectedServer {
    account: SharedState,
    _servers: (HttpServer, HttpServer),
    _runtime: BackgroundRuntime,
}

impl ProtectedServer {
    /// Starts both servers.
    ///
    /// # Panics
    /// If no port is available.
    #[expect(
        clippy::expect_used,
        reason = "a fixture that cannot be made stops the test at once, with its reason"
    )]
    pub fn start() -> Self {
        let runtime = BackgroundRuntime::start();
        let account = SharedState::default();
        let shared = Arc::clone(&account);
        let servers = runtime.run(async move {
            let resource = Router::new().fallback(handle_resource).with_state(Arc::clone(&shared));
            let authorization = Router::new().fallback(handle_authorization).with_state(Arc::clone(&shared));
            let resource = HttpServer::start(0, resource, CancellationToken::new()).await.expect("a port");
            let authorization =
                HttpServer::start(0, authorization, CancellationToken::new()).await.expect("a port");
            let mut account = shared.lock().unwrap_or_else(PoisonError::into_inner);
            account.resource = format!("{}/mcp", resource.url());
            account.origin = authorization.url();
            drop(account);
            (resource, authorization)
        });
        Self { account, _servers: servers, _runtime: runtime }
    }

    /// Returns the URL of the protected server.
    pub fn url(&self) -> String {
        self.account().resource.clone()
    }

    /// Returns the origin of the authorization server.
    pub fn issuer(&self) -> String {
        self.account().origin.clone()
    }

    /// Returns the state of both servers.
    pub fn account(&self) -> MutexGuard<'_, AuthState> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn read_request(request: Request) -> (Parts, String) {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap_or_default();
    (head, String::from_utf8_lossy(&body).into_owned())
}

fn json_response(
    status: StatusCode,
    headers: &[(axum::http::HeaderName, String)],
    body: &Value,
) -> Response<Body> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(name, value);
    }
    match body.is_null() {
        true => response.body(Body::empty()),
        false => response.header(CONTENT_TYPE, "application/json").body(Body::from(body.to_string())),
    }
    .unwrap_or_default()
}

async fn handle_resource(State(account): State<SharedState>, request: Request) -> Response<Body> {
    let (head, body) = read_request(request).await;
    let mut account = account.lock().unwrap_or_else(PoisonError::into_inner);
    match head.uri.path() {
        "/mcp" => handle_mcp(&mut account, &head, &body),
        "/.well-known/oauth-protected-resource/mcp" => {
            let document = json!({
                "resource": account.resource,
                "authorization_servers": [account.origin],
                "scopes_supported": [SCOPE],
                "bearer_methods_supported": ["header"],
            });
            json_response(StatusCode::OK, &[], &document)
        }
        other => {
            account.record_refusal(format!("resource: nothing at {other}"));
            json_response(StatusCode::NOT_FOUND, &[], &Value::Null)
        }
    }
}

fn handle_mcp(account: &mut AuthState, head: &Parts, body: &str) -> Response<Body> {
    if head.method != "POST" {
        account.record_refusal(format!("mcp: {}", head.method));
        return json_response(StatusCode::METHOD_NOT_ALLOWED, &[], &Value::Null);
    }
    if head.uri.query().is_some_and(|query| query.contains("access_token")) {
        account.record_refusal("mcp: a token in the address");
        return json_response(StatusCode::BAD_REQUEST, &[], &Value::Null);
    }
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let token = header(AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer "));
    if !token.is_some_and(|token| account.access_tokens.iter().any(|good| good == token)) {
        let origin = account.resource.trim_end_matches("/mcp");
        let error = if token.is_some() { "error=\"invalid_token\", " } else { "" };
        let challenge = format!(
            "Bearer {error}resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\", scope=\"{SCOPE}\""
        );
        return json_response(StatusCode::UNAUTHORIZED, &[(WWW_AUTHENTICATE, challenge)], &Value::Null);
    }
    let message: Value = serde_json::from_str(body).unwrap_or_default();
    let id = &message["id"];
    let method = message["method"].as_str().unwrap_or_default();
    let mut error = |status: StatusCode, code: i64, data: Value| {
        account.record_refusal(format!("mcp: {method} {code}"));
        let error = json!({ "code": code, "message": "refused", "data": data });
        json_response(status, &[], &json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    };
    if method == "initialize" {
        return error(StatusCode::BAD_REQUEST, -32022, json!({ "supported": [VERSION] }));
    }
    let meta = &message["params"]["_meta"];
    let is_complete = meta["io.modelcontextprotocol/protocolVersion"] == VERSION
        && meta["io.modelcontextprotocol/clientCapabilities"].is_object();
    if !is_complete {
        return error(StatusCode::BAD_REQUEST, -32602, Value::Null);
    }
    let is_repeated = header("mcp-protocol-version") == Some(VERSION)
        && header("mcp-method") == Some(method)
        && header("mcp-name") == message["params"]["name"].as_str();
    if !is_repeated {
        return error(StatusCode::BAD_REQUEST, -32020, Value::Null);
    }
    let mut result = match method {
        "server/discover" => json!({ "supportedVersions": [VERSION], "capabilities": { "tools": {} } }),
        "tools/list" => {
            let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
            json!({ "tools": [{ "name": "note", "description": "Keeps a note.", "inputSchema": schema }] })
        }
        "tools/call" if message["params"]["name"] == "note" => {
            let text = message["params"]["arguments"]["text"].as_str().unwrap_or_default();
            json!({ "content": [{ "type": "text", "text": format!("kept {text}") }] })
        }
        "tools/call" => return error(StatusCode::OK, -32602, Value::Null),
        _ => return error(StatusCode::NOT_FOUND, -32601, Value::Null),
    };
    result["resultType"] = json!("complete");
    if method != "tools/call" {
        result["ttlMs"] = json!(0);
        result["cacheScope"] = json!("private");
    }
    json_response(StatusCode::OK, &[], &json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

async fn handle_authorization(State(account): State<SharedState>, request: Request) -> Response<Body> {
    let (head, body) = read_request(request).await;
    let mut account = account.lock().unwrap_or_else(PoisonError::into_inner);
    match (head.method.as_str(), head.uri.path()) {
        ("GET", "/.well-known/oauth-authorization-server") => {
            let issuer = account.issuer();
            let origin = &account.origin;
            let document = json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"),
                "registration_endpoint": format!("{origin}/register"),
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_methods_supported": ["none"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": true,
            });
            json_response(StatusCode::OK, &[], &document)
        }
        ("POST", "/register") => register(&mut account, &head, &body),
        ("GET", "/authorize") => authorize(&mut account, head.uri.query().unwrap_or_default()),
        ("POST", "/token") => token(&mut account, &head, &body),
        (method, path) => {
            account.record_refusal(format!("authorization: {method} {path}"));
            json_response(StatusCode::NOT_FOUND, &[], &Value::Null)
        }
    }
}

fn has_content_type(head: &Parts, kind: &str) -> bool {
    head.headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|content_type| content_type.starts_with(kind))
}

fn register(account: &mut AuthState, head: &Parts, body: &str) -> Response<Body> {
    let metadata: Value = serde_json::from_str(body).unwrap_or_default();
    let redirects = metadata["redirect_uris"].as_array().map(Vec::as_slice).unwrap_or_default();
    let redirect = redirects.first().and_then(Value::as_str).unwrap_or_default();
    let grants = |grant: &str| {
        metadata["grant_types"].as_array().is_some_and(|all| all.iter().any(|one| one == grant))
    };
    let is_valid = has_content_type(head, "application/json")
        && redirects.len() == 1
        && redirect.starts_with("http://127.0.0.1:")
        && metadata["application_type"] == "native"
        && metadata["token_endpoint_auth_method"] == "none"
        && metadata["response_types"] == json!(["code"])
        && grants("authorization_code")
        && grants("refresh_token");
    if !is_valid {
        account.record_refusal(format!("register: {body}"));
        return json_response(StatusCode::BAD_REQUEST, &[], &json!({ "error": "invalid_client_metadata" }));
    }
    account.counter += 1;
    let client = format!("client-{}", account.counter);
    account.clients.insert(client.clone(), redirect.to_owned());
    let mut document = metadata;
    document["client_id"] = json!(client);
    json_response(StatusCode::CREATED, &[], &document)
}

fn authorize(account: &mut AuthState, query: &str) -> Response<Body> {
    let parameters: BTreeMap<String, String> = parse_form(query).into_iter().collect();
    let parameter = |name: &str| parameters.get(name).map(String::as_str).unwrap_or_default();
    let redirect = account.clients.get(parameter("client_id")).cloned().unwrap_or_default();
    if redirect.is_empty() || parameter("redirect_uri") != redirect {
        account.record_refusal(format!("authorize: client or redirect address: {query}"));
        return json_response(StatusCode::BAD_REQUEST, &[], &Value::Null);
    }
    let is_valid = parameter("response_type") == "code"
        && parameter("code_challenge_method") == "S256"
        && parameter("code_challenge").len() == 43
        && parameter("resource") == account.resource
        && parameter("scope") == SCOPE
        && parameter("state").len() >= 22;
    let issuer = account.issuer();
    let consent = account.consent;
    let mut response = vec![("state", parameter("state").to_owned()), ("iss", issuer)];
    if !is_valid {
        account.record_refusal(format!("authorize: {query}"));
        response.push(("error", "invalid_request".to_owned()));
    } else if consent == Consent::Deny {
        response.push(("error", "access_denied".to_owned()));
    } else {
        let code = account.next_secret("code");
        let issued = IssuedCode {
            client: parameter("client_id").to_owned(),
            redirect: redirect.clone(),
            challenge: parameter("code_challenge").to_owned(),
        };
        account.codes.insert(code.clone(), issued);
        response.push(("code", code));
    }
    match consent {
        Consent::WrongState => response[0].1 = "the-state-of-another-sign-in".to_owned(),
        Consent::WrongIssuer => response[1].1 = "https://another.example".to_owned(),
        Consent::NoIssuer => drop(response.remove(1)),
        Consent::Allow | Consent::Deny => {}
    }
    let query: Vec<String> = response
        .iter()
        .map(|(name, value)| format!("{name}={}", value.replace(':', "%3A").replace('/', "%2F")))
        .collect();
    json_response(StatusCode::FOUND, &[(LOCATION, format!("{redirect}?{}", query.join("&")))], &Value::Null)
}

fn token(account: &mut AuthState, head: &Parts, body: &str) -> Response<Body> {
    let form: BTreeMap<String, String> = parse_form(body).into_iter().collect();
    account.token_requests.push(form.clone());
    let no_store = [(CACHE_CONTROL, "no-store".to_owned())];
    match redeem_grant(account, head, &form) {
        Ok(client) => {
            let access = account.next_secret("access");
            let refresh = account.next_secret("refresh");
            account.access_tokens.push(access.clone());
            account.refresh_tokens.insert(refresh.clone(), client);
            let document = json!({
                "access_token": access,
                "token_type": "Bearer",
                "expires_in": 3600,
                "refresh_token": refresh,
                "scope": SCOPE,
            });
            json_response(StatusCode::OK, &no_store, &document)
        }
        Err(error) => {
            account.record_refusal(format!("token: {error}"));
            let document = json!({ "error": error, "error_description": "The request was refused." });
            json_response(StatusCode::BAD_REQUEST, &no_store, &document)
        }
    }
}

/// Redeems the code or the refresh token of a token request, and returns the client that it was
/// issued for.
fn redeem_grant(
    account: &mut AuthState,
    head: &Parts,
    form: &BTreeMap<String, String>,
) -> Result<String, &'static str> {
    let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
    if !has_content_type(head, "application/x-www-form-urlencoded")
        || head.headers.contains_key(AUTHORIZATION)
    {
        return Err("invalid_request");
    }
    if field("resource") != account.resource {
        return Err("invalid_target");
    }
    let client = field("client_id").to_owned();
    match field("grant_type") {
        "authorization_code" => {
            // A code is used up by its first request, valid or not.
            let code = account.codes.remove(field("code")).ok_or("invalid_grant")?;
            let is_valid = code.client == client
                && code.redirect == field("redirect_uri")
                && code.challenge == base64_url(&Sha256::digest(field("code_verifier")));
            if is_valid { Ok(client) } else { Err("invalid_grant") }
        }
        "refresh_token" => {
            let old = field("refresh_token").to_owned();
            if account.refresh_tokens.get(&old) != Some(&client) {
                if account.used_refresh_tokens.contains(&old) {
                    account.revoke_all();
                }
                return Err("invalid_grant");
            }
            account.refresh_tokens.remove(&old);
            account.used_refresh_tokens.push(old);
            Ok(client)
        }
        _ => Err("unsupported_grant_type"),
    }
}
