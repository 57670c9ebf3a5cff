//! Handles a REST request: injected faults, authorization, rate limits, dispatch, and the log.

use std::time::Duration;

use serde_json::{Value, json};

use super::call::{Answer, Call, Outcome, Reply};
use super::id::Id;
use super::ledger::{Request, Scope};
use super::limits::{Breach, Key, Limited, Told};
use super::refusal::Refusal;
use super::route::Route;
use super::setup::Ownership;
use super::trouble::Mishap;
use super::world::World;

/// The result of a successful request.
pub(super) enum Done {
    /// No content.
    Silent,
    /// JSON.
    Told(Value),
    /// A file with its claimed content type.
    File(Option<String>, Vec<u8>),
}

/// A request with its parsed route.
pub(super) struct Asked<'a> {
    pub call: &'a Call,
    pub route: &'a Route,
}

impl World {
    /// Handles a request.
    pub fn call(&mut self, call: &Call) -> Outcome {
        let route = Route::read(&call.path);
        let template = route.template();
        let asked = Asked { call, route: &route };
        if self.troubles.is_down(self.now.boot) {
            return self.lost(&asked, &template);
        }
        let mishap = self.troubles.meet(&call.method, &template);
        let delay = if let Some(Mishap::Slow(delay)) = &mishap { *delay } else { Duration::ZERO };
        if matches!(mishap, Some(Mishap::LostBefore)) {
            return self.lost(&asked, &template);
        }
        let (answer, limited) = self.answered_call(&asked, mishap.as_ref());
        let lost = matches!(mishap, Some(Mishap::LostAfter));
        let mut request = self.request(&asked, &template);
        request.status = (!lost).then_some(answer.status);
        request.scope = limited.as_ref().map(|limited| limited.scope);
        if limited.is_some_and(|limited| limited.breach == Breach::Yes) {
            self.ledger.embargo_breaches.push(request.clone());
        }
        self.ledger.requests.push(request);
        Outcome { delay, reply: if lost { Reply::Lost } else { Reply::Answered(answer) } }
    }

    fn lost(&mut self, asked: &Asked, template: &str) -> Outcome {
        let request = self.request(asked, template);
        self.ledger.requests.push(request);
        Outcome { delay: Duration::ZERO, reply: Reply::Lost }
    }

    fn request(&self, asked: &Asked, template: &str) -> Request {
        let nonce = &asked.call.body.payload()["nonce"];
        Request {
            at: self.now.boot,
            method: asked.call.method.clone(),
            path: asked.call.path.clone(),
            route: template.to_owned(),
            status: None,
            nonce: nonce
                .as_str()
                .map(str::to_owned)
                .or_else(|| nonce.as_u64().map(|nonce| nonce.to_string())),
            scope: None,
        }
    }

    fn answered_call(&mut self, asked: &Asked, mishap: Option<&Mishap>) -> (Answer, Option<Limited>) {
        let parts = asked.route.parts();
        if !self.may_ask(asked.call, &parts) {
            return (refused(&Refusal::status(401)), None);
        }
        let told = match self.admit(&asked.call.method, &parts, mishap) {
            Ok(told) => told,
            Err(limited) => {
                let mut answer = told_as(429, &limited.body());
                answer.headers.extend(limited.headers(self.now.wall));
                return (answer, Some(limited));
            }
        };
        let done = match mishap {
            Some(Mishap::Status(status)) => Err(Refusal::status(*status)),
            Some(Mishap::Code(code)) => Err(Refusal::code(*code)),
            _ => self.done(asked, &parts),
        };
        let mut answer = match done {
            Ok(Done::Silent) => Answer { status: 204, headers: Vec::new(), body: Vec::new() },
            Ok(Done::Told(value)) => told_as(200, &value),
            Ok(Done::File(kind, bytes)) => file(kind, bytes),
            Err(refusal) => refused(&refusal),
        };
        if let Some(told) = told.filter(|_| answer.status < 500) {
            answer.headers.extend(told.headers(self.now.wall));
        }
        (answer, None)
    }

    fn may_ask(&self, call: &Call, parts: &[&str]) -> bool {
        let open = matches!(
            parts,
            ["interactions", ..] | ["webhooks", _, _, ..] | ["attachments", ..] | ["gateway"]
        );
        let token = format!("Bot {}", self.setup.token);
        open || !self.troubles.revoked && call.token.as_deref() == Some(&token)
    }

    fn admit(
        &mut self,
        method: &str,
        parts: &[&str],
        mishap: Option<&Mishap>,
    ) -> Result<Option<Told>, Limited> {
        let key = Key::of(method, parts);
        if let Some(Mishap::TooMany { scope, retry_after }) = mishap {
            let key = key.clone().unwrap_or(Key { kind: "interactions".into(), place: String::new() });
            let early = self.limits.admit(&key, &self.setup.rates, self.now);
            let early = early.err().filter(|limited| limited.breach == Breach::Yes);
            let wanted = self.limits.refuse(&key, *scope, *retry_after, self.now);
            return Err(early.unwrap_or(wanted));
        }
        let Some(key) = key else { return Ok(None) };
        let mut told = self.limits.admit(&key, &self.setup.rates, self.now)?;
        if let Some(Mishap::Claims(remaining)) = mishap {
            told.remaining = *remaining;
        }
        Ok(Some(told))
    }

    /// Dispatches the request to its handler.
    fn done(&mut self, asked: &Asked, parts: &[&str]) -> Result<Done, Refusal> {
        match (asked.call.method.as_str(), parts) {
            (method, ["channels", channel, rest @ ..]) => self.in_channel(asked, method, channel, rest),
            (_, ["applications" | "oauth2", ..]) => self.of_application(asked, parts),
            ("POST", ["interactions", id, token, "callback"]) => self.callback(asked, id, token),
            (_, ["webhooks", application, token, rest @ ..]) => self.after(asked, application, token, rest),
            ("GET", ["attachments", _, id, ..]) => self.attachment(id),
            ("GET", ["gateway"]) => Ok(Done::Told(json!({"url": self.gateway_url()}))),
            ("GET", ["gateway", "bot"]) => Ok(Done::Told(self.gateway_bot())),
            ("GET", ["users", "@me"]) => {
                let mut user = self.talk.bot.wire();
                user["mfa_enabled"] = json!(false);
                user["verified"] = json!(true);
                user["flags"] = json!(0);
                Ok(Done::Told(user))
            }
            ("POST", ["users", "@me", "channels"]) => self.open_channel(asked.call.body.payload()),
            ("GET", ["users", id]) => {
                let user = id.parse().ok().and_then(|id| self.talk.user(id));
                user.map(|user| Done::Told(user.wire())).ok_or(Refusal::code(10013))
            }
            _ => Err(Refusal::status(404)),
        }
    }

    fn gateway_url(&self) -> String {
        format!("ws://{}/gw", self.place)
    }

    fn gateway_bot(&self) -> Value {
        let total = self.setup.gateway.identifies;
        json!({
            "url": self.gateway_url(), "shards": 1,
            "session_start_limit": {
                "total": total, "remaining": total.saturating_sub(self.gateway.begun.len()),
                "reset_after": 0, "max_concurrency": 1,
            },
        })
    }

    fn open_channel(&self, payload: &Value) -> Result<Done, Refusal> {
        let user = Id::read(&payload["recipient_id"]);
        let channel = user.and_then(|user| self.talk.channel_of(user));
        channel.map(|channel| Done::Told(self.talk.channel_wire(channel))).ok_or(Refusal::code(10013))
    }

    fn attachment(&self, id: &str) -> Result<Done, Refusal> {
        let file = id.parse().ok().and_then(|id| self.talk.files.get(&id)).ok_or(Refusal::status(404))?;
        Ok(Done::File(file.content_type.clone(), file.bytes.clone()))
    }

    /// Returns the application as JSON.
    pub fn application(&self) -> Value {
        let owner = self.owner();
        let mut application = json!({
            "id": self.talk.application.to_string(), "name": self.setup.bot, "icon": null, "description": "",
            "bot_public": false, "bot_require_code_grant": false, "verify_key": "0".repeat(64),
            "owner": owner.wire(), "team": null, "flags": 0, "summary": "", "bot": self.talk.bot.wire(),
            "integration_types_config": {"0": {}, "1": {}},
        });
        if self.setup.ownership == Ownership::Team {
            let team = Self::team(&owner.wire());
            application["owner"] = json!({
                "id": team["id"], "username": "team1", "discriminator": "0000", "avatar": null,
                "public_flags": 1024, "flags": 1024, "global_name": null,
            });
            application["team"] = team;
        }
        if self.setup.ownership == Ownership::Nobody {
            application["owner"] = Value::Null;
        }
        application
    }

    fn team(owner: &Value) -> Value {
        let member = json!({
            "user": owner, "team_id": "1111111111", "membership_state": 2, "role": "admin", "permissions": ["*"],
        });
        json!({
            "id": "1111111111", "name": "team", "icon": null, "owner_user_id": owner["id"], "members": [member],
        })
    }
}

fn told_as(status: u16, value: &Value) -> Answer {
    let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    Answer { status, headers, body: value.to_string().into_bytes() }
}

fn refused(refusal: &Refusal) -> Answer {
    if matches!(refusal.status, 502..=504) {
        // These errors are from the proxy in front of Discord, which serves HTML.
        let page = format!("<html><head><title>{}</title></head></html>", refusal.message);
        return file(Some("text/html".into()), page.into_bytes()).with_status(refusal.status);
    }
    let mut answer = told_as(refusal.status, &refusal.body());
    if refusal.status == 429 {
        // A limit that is not a bucket: the response has an error code and a retry time.
        answer.headers.push(("Retry-After".into(), "60".into()));
        answer.headers.push(("X-RateLimit-Scope".into(), Scope::User.name().into()));
        answer.headers.push(("Via".into(), "1.1 google".into()));
        let mut body = refusal.body();
        body["retry_after"] = json!(60.0);
        body["global"] = json!(false);
        answer.body = body.to_string().into_bytes();
    }
    answer
}

fn file(kind: Option<String>, bytes: Vec<u8>) -> Answer {
    let kind = kind.unwrap_or_else(|| "application/octet-stream".into());
    Answer { status: 200, headers: vec![("Content-Type".into(), kind)], body: bytes }
}
