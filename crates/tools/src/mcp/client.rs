//! The client of one connection: chooses the era, numbers requests, and adds the envelope of the
//! era to them.
//!
//! The era is chosen as the protocol's own clients choose it: `server/discover` is sent first, and every error but an
//! unsupported version without any handshake revision leads to `initialize`.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::protocol::{
    Era, HANDSHAKE_VERSIONS, MODERN_VERSION, RpcError, UNSUPPORTED_VERSION, add_envelope, initialize_params,
    notification, request, string_array,
};
use super::transport::{Headers, Transport, TransportError};

/// The timeout of `server/discover`. Some old servers do not answer requests before `initialize` at
/// all.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// Our own error code for a probe without an answer.
const NO_ANSWER: i64 = -32001;

/// A connection to a server.
pub(super) struct Client {
    transport: Box<dyn Transport>,
    era: Option<Era>,
    last_id: u64,
}

impl Client {
    pub(super) fn new(transport: Box<dyn Transport>) -> Self {
        Self { transport, era: None, last_id: 0 }
    }

    /// The agreed era, `None` before the negotiation.
    #[cfg(test)]
    pub(super) fn era(&self) -> Option<&Era> {
        self.era.as_ref()
    }

    pub(super) fn take_tools_changed(&mut self) -> bool {
        self.transport.take_tools_changed()
    }

    /// Agrees on an era and a revision.
    pub(super) async fn negotiate(&mut self) -> Result<(), TransportError> {
        let mut may_repeat = true;
        loop {
            let refused = match self.probe().await {
                Ok(result) => {
                    let supported =
                        result.get("supportedVersions").and_then(string_array).unwrap_or_default();
                    if supported.contains(&MODERN_VERSION) {
                        self.era = Some(Era::Modern(MODERN_VERSION.to_owned()));
                        return Ok(());
                    }
                    return self.initialize().await;
                }
                Err(failure) if failure.is_answer() => failure,
                Err(failure) => return Err(failure),
            };
            if let Some(supported) = supported_versions(&refused) {
                if may_repeat && supported.iter().any(|version| version == MODERN_VERSION) {
                    may_repeat = false;
                    continue;
                }
                if !supported.iter().any(|version| HANDSHAKE_VERSIONS.contains(&version.as_str())) {
                    return Err(TransportError::broken(no_common_version(&supported)));
                }
            }
            match self.initialize().await {
                // A slow server that answered the probe too late has already chosen the modern era.
                Err(failure)
                    if may_repeat
                        && supported_versions(&failure)
                            .is_some_and(|supported| supported.iter().any(|v| v == MODERN_VERSION)) =>
                {
                    may_repeat = false;
                }
                done => return done,
            }
        }
    }

    /// Sends `server/discover` with the envelope of the modern revision.
    async fn probe(&mut self) -> Result<Value, TransportError> {
        self.era = Some(Era::Modern(MODERN_VERSION.to_owned()));
        let answered = timeout(PROBE_TIMEOUT, self.request("server/discover", Map::new(), Vec::new())).await;
        self.era = None;
        answered.unwrap_or_else(|_| {
            let message = "did not answer `server/discover` in time".to_owned();
            Err(TransportError::Refused(RpcError { code: NO_ANSWER, message, data: Value::Null }))
        })
    }

    /// Opens a connection of the handshake era, with the revision that the server answers.
    pub(super) async fn initialize(&mut self) -> Result<(), TransportError> {
        self.era = None;
        let id = self.next_id();
        let message = request(id, "initialize", &initialize_params());
        let result = self.transport.request(id, &message, &Headers::default()).await?;
        let version = result["protocolVersion"].as_str().unwrap_or_default();
        if !HANDSHAKE_VERSIONS.contains(&version) {
            return Err(TransportError::broken(no_common_version(&[version.to_owned()])));
        }
        self.era = Some(Era::Handshake(version.to_owned()));
        let headers = Headers { version: Some(version.to_owned()), ..Headers::default() };
        self.transport.notify(&notification("notifications/initialized"), &headers).await
    }

    /// Sends a request of the agreed era. `param_headers` are sent in the modern era over HTTP.
    pub(super) async fn request(
        &mut self,
        method: &str,
        mut params: Map<String, Value>,
        param_headers: Vec<(String, String)>,
    ) -> Result<Value, TransportError> {
        let id = self.next_id();
        let headers = match &self.era {
            Some(Era::Modern(version)) => {
                let name = match method {
                    "tools/call" => params.get("name").and_then(Value::as_str).map(str::to_owned),
                    _ => None,
                };
                add_envelope(&mut params, version);
                Headers {
                    version: Some(version.clone()),
                    method: Some(method.to_owned()),
                    name,
                    params: param_headers,
                }
            }
            Some(Era::Handshake(version)) => Headers { version: Some(version.clone()), ..Headers::default() },
            None => Headers::default(),
        };
        let message = request(id, method, &json!(params));
        self.transport.request(id, &message, &headers).await
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

/// The `Mcp-Param-*` headers of a call: each string, integer or boolean in `arguments` whose property in `schema` has an
/// `x-mcp-header`, by the rest of the header's name.
pub(super) fn param_headers(schema: &Value, arguments: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return found };
    for (name, property) in properties {
        let Some(value) = arguments.get(name) else { continue };
        let text = match value {
            Value::String(text) => Some(text.clone()),
            Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        };
        if let (Some(header), Some(text)) = (property.get("x-mcp-header").and_then(Value::as_str), text) {
            found.push((header.to_owned(), text));
        }
        found.extend(param_headers(property, value));
    }
    found
}

/// The revisions that the server names in an unsupported-version error.
fn supported_versions(failure: &TransportError) -> Option<Vec<String>> {
    let TransportError::Refused(error) = failure else { return None };
    if error.code != UNSUPPORTED_VERSION {
        return None;
    }
    Some(error.supported_versions()?.into_iter().map(str::to_owned).collect())
}

fn no_common_version(versions: &[String]) -> String {
    let short =
        |version: &String| crate::plain_text::strip_invisible(version).chars().take(20).collect::<String>();
    let versions: Vec<String> = versions.iter().take(5).map(short).collect();
    format!(
        "speaks protocol version {}, and ollim-bot speaks {MODERN_VERSION} and {}",
        versions.join(", "),
        HANDSHAKE_VERSIONS.join(", ")
    )
}
