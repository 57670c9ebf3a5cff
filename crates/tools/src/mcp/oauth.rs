//! OAuth for servers at an address: finding the authorization server, signing in, and refreshing the access token.
//!
//! The steps are those of the protocol's authorization chapter: protected resource metadata (RFC 9728), authorization
//! server metadata (RFC 8414), a client id or dynamic registration (RFC 7591), a code with PKCE on a loopback redirect,
//! `resource` in every request (RFC 8707), and a check of the issuer (RFC 9207). Tokens are stored per server and used
//! only for the address that they were made for. A token is refreshed when the server answers 401, so no clock is
//! needed.

mod discovery;
mod sign_in;
mod token;

pub use sign_in::SignIn;
pub(super) use token::{RefreshOutcome, TokenProvider};

use std::io;
use std::time::Duration;

use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde_json::Value;

/// The maximum number of bytes of a document from an authorization server.
const MAX_DOCUMENT_BYTES: usize = 256 * 1024;
/// The timeout of a request to an authorization server.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Stores the sign-in of each server, readable only for the user and replaced atomically.
pub trait TokenStore: Send + Sync {
    /// Reads the sign-in of `server`, if there is one.
    fn read(&self, server: &str) -> io::Result<Option<Vec<u8>>>;
    /// Replaces the sign-in of `server`.
    fn replace(&self, server: &str, bytes: &[u8]) -> io::Result<()>;
    /// Removes the sign-in of `server`, if there is one.
    fn remove(&self, server: &str) -> io::Result<()>;
}

/// The resource for which tokens are requested (RFC 8707): without a fragment, and without a final
/// slash if there is no path.
fn resource_of(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    let text = url.to_string();
    if url.path() == "/" && url.query().is_none() { text.trim_end_matches('/').to_owned() } else { text }
}

/// Creates a client for `url`. Secrets are sent there, so insecure transports are refused.
fn client_for(url: &Url) -> Result<Client, String> {
    wire::check_key_transport(url)?;
    wire::build_client(url, |builder| builder.timeout(REQUEST_TIMEOUT))
}

/// Sends a request and returns the status and the JSON body; null if the body is not JSON.
async fn fetch_json(request: RequestBuilder) -> Result<(StatusCode, Value), String> {
    let mut response = request.send().await.map_err(|error| wire::root_cause(&error))?;
    let status = response.status();
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| wire::root_cause(&error))? {
        bytes.extend(chunk);
        if bytes.len() > MAX_DOCUMENT_BYTES {
            return Err("the answer is too long".to_owned());
        }
    }
    Ok((status, serde_json::from_slice(&bytes).unwrap_or_default()))
}

/// The `error` of an OAuth error document, as one short line without a full stop.
fn oauth_error(status: StatusCode, document: &Value) -> String {
    let word = |key: &str| document[key].as_str().map(crate::plain_text::strip_invisible);
    let text = match (word("error"), word("error_description")) {
        (Some(error), Some(description)) => format!("{error}: {description}"),
        (Some(error), None) => error,
        (None, _) => status.to_string(),
    };
    text.trim_end_matches('.').chars().take(200).collect()
}
