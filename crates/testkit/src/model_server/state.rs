//! The state of the server: the script, the log of requests, and the prompt cache.

use std::io::Write;

use domain::conversation::Usage;
use serde_json::{Value, json};

use super::binding::{self, Account};
use super::cache::{PromptCache, prompt_tokens};
use super::catalog::{self, GENERIC, Lifecycle, MODELS, ModelSpec};
use super::events::{MessageMeta, output_tokens};
use super::rules::{self, Endpoint};
use super::{Elapsed, Host, Options, betas, echo, foreign, models_api, reply, search};
use crate::scripted_replies::reply_queue::ReplyQueue;
use crate::scripted_replies::{ErrorReply, ReplyFault, ScriptedReply};

/// A received request of the Messages API.
#[derive(Clone, Debug, PartialEq)]
pub struct MessagesRequest {
    /// The API key of the request.
    pub key: Option<String>,
    /// The `anthropic-version` header.
    pub version: Option<String>,
    /// The values of the `anthropic-beta` header.
    pub betas: Vec<String>,
    pub body: String,
    /// The body as JSON; null if it is not valid JSON.
    pub json: Value,
}

/// A logged request of any endpoint, with its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestLogEntry {
    pub method: String,
    pub path: String,
    pub betas: Vec<String>,
    pub version: Option<String>,
    /// The body; null for a request without one.
    pub json: Value,
    pub status: u16,
    /// The error text of a refusal.
    pub refusal: Option<String>,
    /// Set if the script caused the refusal, rather than a rule of the vendor.
    pub scripted: bool,
}

impl RequestLogEntry {
    /// Returns true if a rule of the server refused the request.
    pub fn is_refused(&self) -> bool {
        self.status >= 400 && !self.scripted
    }
}

/// The reaction to a request.
#[derive(Debug)]
pub enum Decision {
    Reply(Box<ScriptedReply>, MessageMeta),
    Refuse(RefusalResponse),
}

/// A refusal with the data for its response.
#[derive(Debug)]
pub struct RefusalResponse {
    pub refusal: ErrorReply,
    /// `error.details.error_code`.
    pub error_code: Option<String>,
    pub serial: usize,
}

/// The whole state of a server.
pub struct ModelServerState {
    pub replies: ReplyQueue,
    pub received: Vec<MessagesRequest>,
    pub log: Vec<RequestLogEntry>,
    pub usage: Vec<Usage>,
    /// Models that a test declared or changed; they take precedence over the catalog.
    pub models: Vec<(String, ModelSpec)>,
    /// Models that the key may not use.
    pub denied: Vec<String>,
    pub account: Account,
    cache: PromptCache,
    host: Host,
    key: Option<String>,
    elapsed: Elapsed,
    record: Option<std::fs::File>,
}

impl ModelServerState {
    pub fn new(options: Options, record: Option<std::fs::File>) -> Self {
        Self {
            replies: ReplyQueue::default(),
            received: Vec::new(),
            log: Vec::new(),
            usage: Vec::new(),
            models: options.models,
            denied: Vec::new(),
            account: options.account,
            cache: PromptCache::new(options.min_cached_tokens),
            host: options.host,
            key: options.key,
            elapsed: options.elapsed,
            record,
        }
    }

    /// Records a request and decides how to react.
    pub fn decide(&mut self, request: MessagesRequest) -> Decision {
        let serial = self.received.len() + 1;
        self.received.push(request.clone());
        let checked = self.check_request(Endpoint::Messages, &request);
        let (model, checked) = match checked {
            Ok(checked) => checked,
            Err(refusal) => {
                self.record_request("POST", "/v1/messages", &request, Some((&refusal, false)));
                return Decision::Refuse(RefusalResponse { refusal, error_code: None, serial });
            }
        };
        let mut reply = self.replies.next(&request.json, echo::echo);
        let scripted = match &reply.fault {
            Some(ReplyFault::Refuse(refusal)) => Some((refusal, true)),
            _ => None,
        };
        self.record_request("POST", "/v1/messages", &request, scripted);
        let error_code = reply.error_code();
        if let ScriptedReply { fault: Some(ReplyFault::Refuse(refusal)), wait_at: None, .. } = reply {
            return Decision::Refuse(RefusalResponse { refusal, error_code, serial });
        }
        let charge = self.cache.charge(&checked.request, &model, (self.elapsed)());
        let usage = Usage {
            input: charge.plain,
            cache_read: charge.read,
            cache_write: charge.written,
            cache_write_1h: charge.written_1h.min(charge.written),
            output: output_tokens(&reply),
        };
        let usage = reply.charge.as_deref().copied().unwrap_or(usage);
        self.usage.push(usage);
        let reports_transformations = request.betas.iter().any(|beta| beta == betas::BINDING_CONTROLS);
        let mut meta = MessageMeta {
            serial,
            model: request.json["model"].as_str().unwrap_or_default().to_owned(),
            usage,
            transformations: reports_transformations.then_some(checked.transformations),
            server_tool_use: None,
        };
        reply::shape_reply(&mut reply, &request.json, &model, &self.account, &meta);
        meta.server_tool_use = search::usage(&reply, &request.json);
        Decision::Reply(Box::new(reply), meta)
    }

    /// Counts the tokens of a request, after the same checks.
    pub fn count_tokens(&mut self, received: &MessagesRequest) -> Result<u64, ErrorReply> {
        let counted = self
            .check_request(Endpoint::CountTokens, received)
            .map(|(model, checked)| prompt_tokens(&checked.request, &model));
        let refusal = counted.as_ref().err().map(|refused| (refused, false));
        self.record_request("POST", "/v1/messages/count_tokens", received, refusal);
        counted
    }

    /// Handles `GET /v1/models`, or with `id` the record of one model.
    pub fn models(
        &mut self,
        id: Option<&str>,
        query: &[(String, String)],
        received: &MessagesRequest,
    ) -> Result<Value, ErrorReply> {
        let answer = self.models_response(id, query, received);
        let path = id.map_or_else(|| "/v1/models".to_owned(), |id| format!("/v1/models/{id}"));
        self.record_request("GET", &path, received, answer.as_ref().err().map(|refusal| (refusal, false)));
        answer
    }

    fn models_response(
        &self,
        id: Option<&str>,
        query: &[(String, String)],
        received: &MessagesRequest,
    ) -> Result<Value, ErrorReply> {
        if self.host == Host::Foreign {
            return Err(new_refusal(404, "not_found_error", "Not Found"));
        }
        self.check_headers(received)?;
        let field = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let Some(id) = id else {
            let limit = field("limit").and_then(|limit| limit.parse().ok()).unwrap_or(20);
            return Ok(models_api::page(self.records(), field("after_id"), limit));
        };
        let known = self.declared_model(id).or_else(|| catalog::find(id).copied());
        match known.filter(|_| !self.is_denied(id)) {
            Some(model) => Ok(models_api::record(if model.id == GENERIC.id { id } else { model.id }, &model)),
            None => Err(not_found(id)),
        }
    }

    fn records(&self) -> Vec<Value> {
        let declared = self.models.iter().map(|(id, model)| (id.as_str(), *model));
        let catalog = MODELS.iter().map(|model| (model.id, *model));
        let undeclared = catalog.filter(|(id, _)| self.declared_model(id).is_none());
        let all = declared.chain(undeclared).filter(|(id, _)| !self.is_denied(id));
        all.map(|(id, model)| models_api::record(id, &model)).collect()
    }

    /// Checks a request against every rule. Returns its model, and the request as the model reads
    /// it.
    fn check_request(
        &self,
        endpoint: Endpoint,
        received: &MessagesRequest,
    ) -> Result<(ModelSpec, binding::CheckedRequest), ErrorReply> {
        let invalid = |why: String| new_refusal(400, "invalid_request_error", &why);
        self.check_headers(received)?;
        if received.json.is_null() {
            return Err(invalid("the body is not valid JSON".to_owned()));
        }
        let version = received.version.as_deref().unwrap_or_default();
        if self.host == Host::Foreign {
            foreign::check(&received.json, &received.betas).map_err(invalid)?;
        }
        rules::check_shape(endpoint, &received.json, &received.betas, version).map_err(invalid)?;
        let model = self.find_model(received.json["model"].as_str().unwrap_or_default())?;
        let request = rules::RuleInput {
            endpoint,
            json: &received.json,
            betas: &received.betas,
            version,
            model: &model,
        };
        rules::check_request(&request).map_err(invalid)?;
        let checked =
            binding::check(&received.json, &model, &received.betas, &self.account).map_err(invalid)?;
        rules::check_prompt_length(prompt_tokens(&checked.request, &model), model.window).map_err(invalid)?;
        Ok((model, checked))
    }

    fn check_headers(&self, received: &MessagesRequest) -> Result<(), ErrorReply> {
        if self.key.is_some() && self.key != received.key {
            return Err(new_refusal(401, "authentication_error", "invalid x-api-key"));
        }
        if received.version.is_none() {
            return Err(new_refusal(400, "invalid_request_error", "anthropic-version: header is required"));
        }
        Ok(())
    }

    /// Finds the model of a request: 404 for one that is unknown, retired or not for this key.
    fn find_model(&self, id: &str) -> Result<ModelSpec, ErrorReply> {
        if self.host == Host::Foreign {
            return Ok(GENERIC);
        }
        let test_name = !id.starts_with("claude-") || id.starts_with("claude-test");
        let found =
            self.declared_model(id).or_else(|| catalog::find(id).copied()).or(test_name.then_some(GENERIC));
        found
            .filter(|model| model.lifecycle != Lifecycle::Retired && !self.is_denied(id))
            .ok_or_else(|| not_found(id))
    }

    fn declared_model(&self, id: &str) -> Option<ModelSpec> {
        self.models.iter().find(|(name, _)| name == id).map(|(_, model)| *model)
    }

    fn is_denied(&self, id: &str) -> bool {
        self.denied.iter().any(|denied| denied == id)
    }

    /// Adds a request to the log and to the file of `--record`.
    fn record_request(
        &mut self,
        method: &str,
        path: &str,
        received: &MessagesRequest,
        refusal: Option<(&ErrorReply, bool)>,
    ) {
        let logged = RequestLogEntry {
            method: method.to_owned(),
            path: path.to_owned(),
            betas: received.betas.clone(),
            version: received.version.clone(),
            json: received.json.clone(),
            status: refusal.map_or(200, |(refusal, _)| refusal.status),
            refusal: refusal.map(|(refusal, _)| refusal.message.clone()),
            scripted: refusal.is_some_and(|(_, scripted)| scripted),
        };
        if let Some(file) = &mut self.record {
            let line = json!({
                "method": logged.method,
                "path": logged.path,
                "betas": logged.betas,
                "version": logged.version,
                "body": logged.json,
                "status": logged.status,
                "refusal": logged.refusal,
                "scripted": logged.scripted,
            });
            // A failed write (such as a full disk) fails the test that reads the file.
            let _ = writeln!(file, "{line}");
        }
        self.log.push(logged);
    }
}

fn not_found(id: &str) -> ErrorReply {
    new_refusal(404, "not_found_error", &format!("model: {id}"))
}

fn new_refusal(status: u16, kind: &str, message: &str) -> ErrorReply {
    ErrorReply { status, kind: kind.to_owned(), message: message.to_owned(), retry_after: None }
}
