//! A protected MCP server and its authorization server on loopback, each at its own origin.
//!
//! They refuse every request that violates a rule of the protocol's authorization chapter, and
//! record the reason in [`AuthState::refusals`], so that a test can assert that there was none. The
//! rules, with their sources:
//!
//! - The endpoint takes POST alone, and the headers repeat the body (MCP 2026-07-28, Streamable HTTP). `initialize` is an
//!   unsupported version (MCP 2026-07-28, Versioning).
//! - A request without a valid token is a 401 that names the resource metadata (MCP authorization; RFC 9728 section 5.1).
//! An expired token is `invalid_token` (RFC 6750 section 3.1). Tokens are never accepted in the URL.
//! - The metadata of the resource and of the authorization server are where RFC 9728 section 3.1 and RFC 8414 section 3
//!   put them.
//! - Clients register as native ones without a secret, with a redirect to loopback (RFC 7591, RFC 8252; MCP
//!   authorization, application type).
//! - The authorization request has a registered client and its exact redirect address, PKCE with S256, a `state` and the
//!   `resource` (OAuth 2.1 sections 4.1.1 and 7.5; RFC 8707). An unknown client or redirect address is not redirected to.
//! - The response names the issuer (RFC 9207).
//! - A code is valid once, for the client, redirect address and resource that it was issued for, and with its verifier
//! (OAuth 2.1 section 4.1.3).
//! - The refresh token of a public client is replaced at each use; reuse of an old one ends the sign-in (OAuth
//! 2.1 section 4.3.1).
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

use crate::elsewhere::Elsewhere;
use crate::google::{base64_url, pairs};
use crate::play::house::House;

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
pub struct Account {
    /// The user's answer to the next authorization requests.
    pub consent: Consent,
    /// The valid access tokens.
    pub access: Vec<String>,
    /// The valid refresh tokens, with the client that each was issued for.
    pub refresh: BTreeMap<String, String>,
    /// The issuer ends with a slash, as with some real servers, while the resource metadata omits
    /// it.
    pub slash: bool,
    /// The reasons of refusals, in order. A request without a token is not recorded.
    pub refused: Vec<String>,
    /// The forms of the token requests, in order.
    pub token_requests: Vec<BTreeMap<String, String>>,
    used: Vec<String>,
    clients: BTreeMap<String, String>,
    codes: BTreeMap<String, Code>,
    resource: String,
    origin: String,
    number: u32,
}

/// An issued authorization code.
#[derive(Clone, Debug)]
struct Code {
    client: String,
    redirect: String,
    challenge: String,
}

impl Account {
    /// Invalidates every access token.
    pub fn expire(&mut self) {
        self.access.clear();
    }

    /// Revokes every token, as when the user removes the application from the account.
    pub fn withdraw(&mut self) {
        self.access.clear();
        self.refresh.clear();
    }

    /// Returns every valid token.
    pub fn secrets(&self) -> Vec<String> {
        self.access.iter().chain(self.refresh.keys()).cloned().collect()
    }

    fn issuer(&self) -> String {
        if self.slash { format!("{}/", self.origin) } else { self.origin.clone() }
    }

    fn refuse(&mut self, why: impl Into<String>) {
        self.refused.push(why.into());
    }

    fn next(&mut self, kind: &str) -> String {
        self.number += 1;
        format!("{kind}-canary-{}", self.number)
    }
}

type Shared = Arc<Mutex<Account>>;

/// Both servers, running in a background thread. Dropping this stops them.
pub struct ProtectedServer {
    account: Shared,
    _houses: (House, House),
    _elsewhere: Elsewhere,
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
    pub fn open() -> Self {
        let elsewhere = Elsewhere::open();
        let account = Shared::default();
        let theirs = Arc::clone(&account);
        let houses = elsewhere.run(async move {
            let resource = Router::new().fallback(resource).with_state(Arc::clone(&theirs));
            let authorization = Router::new().fallback(authorization).with_state(Arc::clone(&theirs));
            let resource = House::open(0, resource, CancellationToken::new()).await.expect("a port");
            let authorization =
                House::open(0, authorization, CancellationToken::new()).await.expect("a port");
            let mut account = theirs.lock().unwrap_or_else(PoisonError::into_inner);
            account.resource = format!("{}/mcp", resource.url());
            account.origin = authorization.url();
            drop(account);
            (resource, authorization)
        });
        Self { account, _houses: houses, _elsewhere: elsewhere }
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
    pub fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn received(request: Request) -> (Parts, String) {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap_or_default();
    (head, String::from_utf8_lossy(&body).into_owned())
}

fn written(status: StatusCode, headers: &[(axum::http::HeaderName, String)], body: &Value) -> Response<Body> {
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

async fn resource(State(account): State<Shared>, request: Request) -> Response<Body> {
    let (head, body) = received(request).await;
    let mut account = account.lock().unwrap_or_else(PoisonError::into_inner);
    match head.uri.path() {
        "/mcp" => protected(&mut account, &head, &body),
        "/.well-known/oauth-protected-resource/mcp" => {
            let document = json!({
                "resource": account.resource,
                "authorization_servers": [account.origin],
                "scopes_supported": [SCOPE],
                "bearer_methods_supported": ["header"],
            });
            written(StatusCode::OK, &[], &document)
        }
        other => {
            account.refuse(format!("resource: nothing at {other}"));
            written(StatusCode::NOT_FOUND, &[], &Value::Null)
        }
    }
}

fn protected(account: &mut Account, head: &Parts, body: &str) -> Response<Body> {
    if head.method != "POST" {
        account.refuse(format!("mcp: {}", head.method));
        return written(StatusCode::METHOD_NOT_ALLOWED, &[], &Value::Null);
    }
    if head.uri.query().is_some_and(|query| query.contains("access_token")) {
        account.refuse("mcp: a token in the address");
        return written(StatusCode::BAD_REQUEST, &[], &Value::Null);
    }
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let token = header(AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer "));
    if !token.is_some_and(|token| account.access.iter().any(|good| good == token)) {
        let origin = account.resource.trim_end_matches("/mcp");
        let error = if token.is_some() { "error=\"invalid_token\", " } else { "" };
        let challenge = format!(
            "Bearer {error}resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\", scope=\"{SCOPE}\""
        );
        return written(StatusCode::UNAUTHORIZED, &[(WWW_AUTHENTICATE, challenge)], &Value::Null);
    }
    let message: Value = serde_json::from_str(body).unwrap_or_default();
    let id = &message["id"];
    let method = message["method"].as_str().unwrap_or_default();
    let mut error = |status: StatusCode, code: i64, data: Value| {
        account.refuse(format!("mcp: {method} {code}"));
        let error = json!({ "code": code, "message": "refused", "data": data });
        written(status, &[], &json!({ "jsonrpc": "2.0", "id": id, "error": error }))
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
    written(StatusCode::OK, &[], &json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

async fn authorization(State(account): State<Shared>, request: Request) -> Response<Body> {
    let (head, body) = received(request).await;
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
            written(StatusCode::OK, &[], &document)
        }
        ("POST", "/register") => register(&mut account, &head, &body),
        ("GET", "/authorize") => authorize(&mut account, head.uri.query().unwrap_or_default()),
        ("POST", "/token") => token(&mut account, &head, &body),
        (method, path) => {
            account.refuse(format!("authorization: {method} {path}"));
            written(StatusCode::NOT_FOUND, &[], &Value::Null)
        }
    }
}

fn is_of_kind(head: &Parts, kind: &str) -> bool {
    head.headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|it| it.starts_with(kind))
}

fn register(account: &mut Account, head: &Parts, body: &str) -> Response<Body> {
    let wanted: Value = serde_json::from_str(body).unwrap_or_default();
    let redirects = wanted["redirect_uris"].as_array().map(Vec::as_slice).unwrap_or_default();
    let redirect = redirects.first().and_then(Value::as_str).unwrap_or_default();
    let grants =
        |grant: &str| wanted["grant_types"].as_array().is_some_and(|all| all.iter().any(|one| one == grant));
    let is_right = is_of_kind(head, "application/json")
        && redirects.len() == 1
        && redirect.starts_with("http://127.0.0.1:")
        && wanted["application_type"] == "native"
        && wanted["token_endpoint_auth_method"] == "none"
        && wanted["response_types"] == json!(["code"])
        && grants("authorization_code")
        && grants("refresh_token");
    if !is_right {
        account.refuse(format!("register: {body}"));
        return written(StatusCode::BAD_REQUEST, &[], &json!({ "error": "invalid_client_metadata" }));
    }
    account.number += 1;
    let client = format!("client-{}", account.number);
    account.clients.insert(client.clone(), redirect.to_owned());
    let mut document = wanted;
    document["client_id"] = json!(client);
    written(StatusCode::CREATED, &[], &document)
}

fn authorize(account: &mut Account, query: &str) -> Response<Body> {
    let asked: BTreeMap<String, String> = pairs(query).into_iter().collect();
    let asks = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
    let redirect = account.clients.get(asks("client_id")).cloned().unwrap_or_default();
    if redirect.is_empty() || asks("redirect_uri") != redirect {
        account.refuse(format!("authorize: client or redirect address: {query}"));
        return written(StatusCode::BAD_REQUEST, &[], &Value::Null);
    }
    let is_right = asks("response_type") == "code"
        && asks("code_challenge_method") == "S256"
        && asks("code_challenge").len() == 43
        && asks("resource") == account.resource
        && asks("scope") == SCOPE
        && asks("state").len() >= 22;
    let issuer = account.issuer();
    let consent = account.consent;
    let mut response = vec![("state", asks("state").to_owned()), ("iss", issuer)];
    if !is_right {
        account.refuse(format!("authorize: {query}"));
        response.push(("error", "invalid_request".to_owned()));
    } else if consent == Consent::Deny {
        response.push(("error", "access_denied".to_owned()));
    } else {
        let code = account.next("code");
        let made = Code {
            client: asks("client_id").to_owned(),
            redirect: redirect.clone(),
            challenge: asks("code_challenge").to_owned(),
        };
        account.codes.insert(code.clone(), made);
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
    written(StatusCode::FOUND, &[(LOCATION, format!("{redirect}?{}", query.join("&")))], &Value::Null)
}

fn token(account: &mut Account, head: &Parts, body: &str) -> Response<Body> {
    let form: BTreeMap<String, String> = pairs(body).into_iter().collect();
    account.token_requests.push(form.clone());
    let no_store = [(CACHE_CONTROL, "no-store".to_owned())];
    match client_of(account, head, &form) {
        Ok(client) => {
            let access = account.next("access");
            let refresh = account.next("refresh");
            account.access.push(access.clone());
            account.refresh.insert(refresh.clone(), client);
            let document = json!({
                "access_token": access,
                "token_type": "Bearer",
                "expires_in": 3600,
                "refresh_token": refresh,
                "scope": SCOPE,
            });
            written(StatusCode::OK, &no_store, &document)
        }
        Err(error) => {
            account.refuse(format!("token: {error}"));
            let document = json!({ "error": error, "error_description": "The request was refused." });
            written(StatusCode::BAD_REQUEST, &no_store, &document)
        }
    }
}

/// Redeems the code or the refresh token of a token request, and returns the client that it was
/// issued for.
fn client_of(
    account: &mut Account,
    head: &Parts,
    form: &BTreeMap<String, String>,
) -> Result<String, &'static str> {
    let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
    if !is_of_kind(head, "application/x-www-form-urlencoded") || head.headers.contains_key(AUTHORIZATION) {
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
            let is_good = code.client == client
                && code.redirect == field("redirect_uri")
                && code.challenge == base64_url(&Sha256::digest(field("code_verifier")));
            if is_good { Ok(client) } else { Err("invalid_grant") }
        }
        "refresh_token" => {
            let old = field("refresh_token").to_owned();
            if account.refresh.get(&old) != Some(&client) {
                if account.used.contains(&old) {
                    account.withdraw();
                }
                return Err("invalid_grant");
            }
            account.refresh.remove(&old);
            account.used.push(old);
            Ok(client)
        }
        _ => Err("unsupported_grant_type"),
    }
}
