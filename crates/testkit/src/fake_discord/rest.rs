//! Handles a REST request: injected faults, authorization, rate limits, dispatch, and the log.

use std::time::Duration;

use serde_json::{Value, json};

use super::activity_log::{LimitScope, LoggedRequest};
use super::api::{ApiReply, ApiRequest, ApiResponse, DelayedReply};
use super::api_error::ApiError;
use super::faults::RequestFault;
use super::id::Id;
use super::rate_limits::{Breach, BucketKey, LimitStatus, RateLimited};
use super::route::Route;
use super::setup::Ownership;
use super::state::DiscordState;

/// The result of a successful request.
pub(super) enum RestResult {
    /// No content.
    NoContent,
    /// JSON.
    Json(Value),
    /// A file with its claimed content type.
    File(Option<String>, Vec<u8>),
}

/// A request with its parsed route.
pub(super) struct RequestContext<'a> {
    pub request: &'a ApiRequest,
    pub route: &'a Route,
}

impl DiscordState {
    /// Handles a request.
    pub fn handle_request(&mut self, api_request: &ApiRequest) -> DelayedReply {
        let route = Route::parse(&api_request.path);
        let template = route.template();
        let context = RequestContext { request: api_request, route: &route };
        if self.faults.is_down(self.now.boot) {
            return self.log_lost(&context, &template);
        }
        let fault = self.faults.take_request_fault(&api_request.method, &template);
        let delay = if let Some(RequestFault::Slow(delay)) = &fault { *delay } else { Duration::ZERO };
        if matches!(fault, Some(RequestFault::LostBefore)) {
            return self.log_lost(&context, &template);
        }
        let (answer, limited) = self.respond(&context, fault.as_ref());
        let lost = matches!(fault, Some(RequestFault::LostAfter));
        let mut entry = self.log_entry(&context, &template);
        entry.status = (!lost).then_some(answer.status);
        entry.scope = limited.as_ref().map(|limited| limited.scope);
        if limited.is_some_and(|limited| limited.breach == Breach::Yes) {
            self.log.premature_requests.push(entry.clone());
        }
        self.log.requests.push(entry);
        DelayedReply { delay, reply: if lost { ApiReply::Lost } else { ApiReply::Response(answer) } }
    }

    fn log_lost(&mut self, context: &RequestContext, template: &str) -> DelayedReply {
        let entry = self.log_entry(context, template);
        self.log.requests.push(entry);
        DelayedReply { delay: Duration::ZERO, reply: ApiReply::Lost }
    }

    fn log_entry(&self, context: &RequestContext, template: &str) -> LoggedRequest {
        let nonce = &context.request.body.payload()["nonce"];
        LoggedRequest {
            at: self.now.boot,
            method: context.request.method.clone(),
            path: context.request.path.clone(),
            route: template.to_owned(),
            status: None,
            nonce: nonce
                .as_str()
                .map(str::to_owned)
                .or_else(|| nonce.as_u64().map(|nonce| nonce.to_string())),
            scope: None,
        }
    }

    fn respond(
        &mut self,
        context: &RequestContext,
        fault: Option<&RequestFault>,
    ) -> (ApiResponse, Option<RateLimited>) {
        let parts = context.route.parts();
        if !self.is_authorized(context.request, &parts) {
            return (error_response(&ApiError::status(401)), None);
        }
        let limit_status = match self.check_rate_limit(&context.request.method, &parts, fault) {
            Ok(limit_status) => limit_status,
            Err(limited) => {
                let mut answer = json_response(429, &limited.body());
                answer.headers.extend(limited.headers(self.now.wall));
                return (answer, Some(limited));
            }
        };
        let result = match fault {
            Some(RequestFault::Status(status)) => Err(ApiError::status(*status)),
            Some(RequestFault::Code(code)) => Err(ApiError::code(*code)),
            _ => self.dispatch(context, &parts),
        };
        let mut answer = match result {
            Ok(RestResult::NoContent) => ApiResponse { status: 204, headers: Vec::new(), body: Vec::new() },
            Ok(RestResult::Json(value)) => json_response(200, &value),
            Ok(RestResult::File(kind, bytes)) => file_response(kind, bytes),
            Err(refusal) => error_response(&refusal),
        };
        if let Some(limit_status) = limit_status.filter(|_| answer.status < 500) {
            answer.headers.extend(limit_status.headers(self.now.wall));
        }
        (answer, None)
    }

    fn is_authorized(&self, request: &ApiRequest, parts: &[&str]) -> bool {
        let is_public = matches!(
            parts,
            ["interactions", ..] | ["webhooks", _, _, ..] | ["attachments", ..] | ["gateway"]
        );
        let token = format!("Bot {}", self.setup.token);
        is_public || !self.faults.revoked && request.token.as_deref() == Some(&token)
    }

    fn check_rate_limit(
        &mut self,
        method: &str,
        parts: &[&str],
        fault: Option<&RequestFault>,
    ) -> Result<Option<LimitStatus>, RateLimited> {
        let key = BucketKey::for_request(method, parts);
        if let Some(RequestFault::RateLimited { scope, retry_after }) = fault {
            let key =
                key.clone().unwrap_or(BucketKey { kind: "interactions".into(), resource: String::new() });
            let premature = self.rate_limiter.admit(&key, &self.setup.rates, self.now);
            let premature = premature.err().filter(|limited| limited.breach == Breach::Yes);
            let injected = self.rate_limiter.inject_limit(&key, *scope, *retry_after, self.now);
            return Err(premature.unwrap_or(injected));
        }
        let Some(key) = key else { return Ok(None) };
        let mut status = self.rate_limiter.admit(&key, &self.setup.rates, self.now)?;
        if let Some(RequestFault::ClaimRemaining(remaining)) = fault {
            status.remaining = *remaining;
        }
        Ok(Some(status))
    }

    /// Dispatches the request to its handler.
    fn dispatch(&mut self, context: &RequestContext, parts: &[&str]) -> Result<RestResult, ApiError> {
        match (context.request.method.as_str(), parts) {
            (method, ["channels", channel, rest @ ..]) => self.handle_channel(context, method, channel, rest),
            (_, ["applications" | "oauth2", ..]) => self.handle_application(context, parts),
            ("POST", ["interactions", id, token, "callback"]) => self.handle_callback(context, id, token),
            (_, ["webhooks", application, token, rest @ ..]) => {
                self.handle_followup(context, application, token, rest)
            }
            ("GET", ["attachments", _, id, ..]) => self.attachment(id),
            ("GET", ["gateway"]) => Ok(RestResult::Json(json!({"url": self.gateway_url()}))),
            ("GET", ["gateway", "bot"]) => Ok(RestResult::Json(self.gateway_bot())),
            ("GET", ["users", "@me"]) => {
                let mut user = self.chat.bot.to_json();
                user["mfa_enabled"] = json!(false);
                user["verified"] = json!(true);
                user["flags"] = json!(0);
                Ok(RestResult::Json(user))
            }
            ("POST", ["users", "@me", "channels"]) => self.open_channel(context.request.body.payload()),
            ("GET", ["users", id]) => {
                let user = id.parse().ok().and_then(|id| self.chat.user(id));
                user.map(|user| RestResult::Json(user.to_json())).ok_or(ApiError::code(10013))
            }
            _ => Err(ApiError::status(404)),
        }
    }

    fn gateway_url(&self) -> String {
        format!("ws://{}/gw", self.address)
    }

    fn gateway_bot(&self) -> Value {
        let total = self.setup.gateway.daily_identifies;
        json!({
            "url": self.gateway_url(), "shards": 1,
            "session_start_limit": {
                "total": total, "remaining": total.saturating_sub(self.gateway.session_starts.len()),
                "reset_after": 0, "max_concurrency": 1,
            },
        })
    }

    fn open_channel(&self, payload: &Value) -> Result<RestResult, ApiError> {
        let user = Id::from_json(&payload["recipient_id"]);
        let channel = user.and_then(|user| self.chat.channel_of(user));
        channel.map(|channel| RestResult::Json(self.chat.channel_json(channel))).ok_or(ApiError::code(10013))
    }

    fn attachment(&self, id: &str) -> Result<RestResult, ApiError> {
        let file = id.parse().ok().and_then(|id| self.chat.files.get(&id)).ok_or(ApiError::status(404))?;
        Ok(RestResult::File(file.content_type.clone(), file.bytes.clone()))
    }

    /// Returns the application as JSON.
    pub fn application_json(&self) -> Value {
        let owner = self.owner();
        let mut application = json!({
            "id": self.chat.application.to_string(), "name": self.setup.bot, "icon": null, "description": "",
            "bot_public": false, "bot_require_code_grant": false, "verify_key": "0".repeat(64),
            "owner": owner.to_json(), "team": null, "flags": 0, "summary": "", "bot": self.chat.bot.to_json(),
            "integration_types_config": {"0": {}, "1": {}},
        });
        if self.setup.ownership == Ownership::Team {
            let team = Self::team_json(&owner.to_json());
            application["owner"] = json!({
                "id": team["id"], "username": "team1", "discriminator": "0000", "avatar": null,
                "public_flags": 1024, "flags": 1024, "global_name": null,
            });
            application["team"] = team;
        }
        if self.setup.ownership == Ownership::Unknown {
            application["owner"] = Value::Null;
        }
        application
    }

    fn team_json(owner: &Value) -> Value {
        let member = json!({
            "user": owner, "team_id": "1111111111", "membership_state": 2, "role": "admin", "permissions": ["*"],
        });
        json!({
            "id": "1111111111", "name": "team", "icon": null, "owner_user_id": owner["id"], "members": [member],
        })
    }
}

fn json_response(status: u16, value: &Value) -> ApiResponse {
    let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    ApiResponse { status, headers, body: value.to_string().into_bytes() }
}

fn error_response(refusal: &ApiError) -> ApiResponse {
    if matches!(refusal.status, 502..=504) {
        // These errors are from the proxy in front of Discord, which serves HTML.
        let page = format!("<html><head><title>{}</title></head></html>", refusal.message);
        return file_response(Some("text/html".into()), page.into_bytes()).with_status(refusal.status);
    }
    let mut answer = json_response(refusal.status, &refusal.body());
    if refusal.status == 429 {
        // A limit that is not a bucket: the response has an error code and a retry time.
        answer.headers.push(("Retry-After".into(), "60".into()));
        answer.headers.push(("X-RateLimit-Scope".into(), LimitScope::User.name().into()));
        answer.headers.push(("Via".into(), "1.1 google".into()));
        let mut body = refusal.body();
        body["retry_after"] = json!(60.0);
        body["global"] = json!(false);
        answer.body = body.to_string().into_bytes();
    }
    answer
}

fn file_response(kind: Option<String>, bytes: Vec<u8>) -> ApiResponse {
    let kind = kind.unwrap_or_else(|| "application/octet-stream".into());
    ApiResponse { status: 200, headers: vec![("Content-Type".into(), kind)], body: bytes }
}
