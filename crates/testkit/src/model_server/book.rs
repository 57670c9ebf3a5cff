//! What the server knows: what to play next, what came, and what it charged.

use domain::conversation::Usage;
use serde_json::Value;

use super::cache::Cache;
use super::events::{Title, output_tokens};
use super::{Elapsed, Options, echo, rules};
use crate::play::programme::Programme;
use crate::play::{Act, Fault, Refused};

/// One request, as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// The key it came with.
    pub key: Option<String>,
    /// The version it speaks.
    pub version: Option<String>,
    /// Its bytes.
    pub body: String,
    /// The same as JSON; null, if it is none.
    pub json: Value,
}

/// What to do with a request.
#[derive(Debug)]
pub enum Decision {
    /// Play this.
    Play(Act, Title),
    /// Refuse it.
    Refuse(Refused, usize),
}

/// The whole state of a server.
pub struct Book {
    pub programme: Programme,
    pub received: Vec<Received>,
    pub usage: Vec<Usage>,
    cache: Cache,
    key: Option<String>,
    elapsed: Elapsed,
}

impl Book {
    pub fn new(options: Options) -> Self {
        Self {
            programme: Programme::default(),
            received: Vec::new(),
            usage: Vec::new(),
            cache: Cache::new(options.least_cached),
            key: options.key,
            elapsed: options.elapsed,
        }
    }

    /// Enters a request, and decides what comes of it.
    pub fn decide(&mut self, received: Received) -> Decision {
        let serial = self.received.len() + 1;
        let wrong = self.wrong(&received);
        let request = received.json.clone();
        self.received.push(received);
        if let Some(refused) = wrong {
            return Decision::Refuse(refused, serial);
        }
        match self.programme.next(&request, echo::echo) {
            Act { fault: Some(Fault::Refuse(refused)), hold: None, .. } => Decision::Refuse(refused, serial),
            act => {
                let usage = self.charge(&request, &act);
                let model = request["model"].as_str().unwrap_or_default().to_owned();
                Decision::Play(act, Title { serial, model, usage })
            }
        }
    }

    /// Says why `received` cannot be answered.
    pub fn wrong(&self, received: &Received) -> Option<Refused> {
        let refused = |status, kind: &str, message: &str| {
            let (kind, message) = (kind.to_owned(), message.to_owned());
            Some(Refused { status, kind, message, retry_after: None })
        };
        if self.key.is_some() && self.key != received.key {
            return refused(401, "authentication_error", "invalid x-api-key");
        }
        if received.version.is_none() {
            return refused(400, "invalid_request_error", "anthropic-version: header is required");
        }
        if received.json.is_null() {
            return refused(400, "invalid_request_error", "the body is not valid JSON");
        }
        rules::check(&received.json).err().and_then(|why| refused(400, "invalid_request_error", &why))
    }

    fn charge(&mut self, request: &Value, act: &Act) -> Usage {
        let charge = self.cache.charge(request, (self.elapsed)());
        let usage = Usage {
            input: charge.plain,
            cache_read: charge.read,
            cache_write: charge.written,
            cache_write_1h: 0,
            output: output_tokens(act),
        };
        let usage = act.charge.as_deref().copied().unwrap_or(usage);
        self.usage.push(usage);
        usage
    }
}
