//! OAuth for servers at an address: finding the authorization server, signing in, and refreshing the access token.
//!
//! The steps are those of the protocol's authorization chapter: protected resource metadata (RFC 9728), authorization
//! server metadata (RFC 8414), a client id or dynamic registration (RFC 7591), a code with PKCE on a loopback redirect,
//! `resource` in every request (RFC 8707), and a check of the issuer (RFC 9207). Tokens are kept per server and used
//! only for the address that they were made for. A token is refreshed when the server answers 401, so no clock is
//! needed.

mod discovery;
mod sign_in;
mod token;

pub use sign_in::SignIn;
pub(super) use token::{Authorizer, Refreshed};

use std::io;
use std::time::Duration;

use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde_json::Value;

/// The most bytes of a document of an authorization server.
const DOCUMENT: usize = 256 * 1024;
/// How long one request to an authorization server may take.
const REQUEST: Duration = Duration::from_secs(30);

/// Keeps the sign-in of each server, readable by the user alone and replaced whole.
pub trait TokenStore: Send + Sync {
    /// Reads the sign-in of `server`, if there is one.
    fn read(&self, server: &str) -> io::Result<Option<Vec<u8>>>;
    /// Replaces the sign-in of `server`.
    fn replace(&self, server: &str, bytes: &[u8]) -> io::Result<()>;
    /// Removes the sign-in of `server`, if there is one.
    fn remove(&self, server: &str) -> io::Result<()>;
}

/// The address that tokens are asked for (RFC 8707): without a fragment, and without a final slash if it has no path.
fn resource_of(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    let text = url.to_string();
    if url.path() == "/" && url.query().is_none() { text.trim_end_matches('/').to_owned() } else { text }
}

/// A client for `url`. Secrets go there, so it is refused if others on the way could read them.
fn client_for(url: &Url) -> Result<Client, String> {
    wire::guarded(url)?;
    wire::client(url, |builder| builder.timeout(REQUEST))
}

/// Sends a request, and returns its status and its JSON; null if the body is none.
async fn fetched(request: RequestBuilder) -> Result<(StatusCode, Value), String> {
    let mut response = request.send().await.map_err(|error| wire::reason(&error))?;
    let status = response.status();
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| wire::reason(&error))? {
        bytes.extend(chunk);
        if bytes.len() > DOCUMENT {
            return Err("the answer is too long".to_owned());
        }
    }
    Ok((status, serde_json::from_slice(&bytes).unwrap_or_default()))
}

/// The `error` of an OAuth error document, as one short line without a full stop.
fn oauth_error(status: StatusCode, document: &Value) -> String {
    let word = |key: &str| document[key].as_str().map(crate::plain::cleaned);
    let text = match (word("error"), word("error_description")) {
        (Some(error), Some(description)) => format!("{error}: {description}"),
        (Some(error), None) => error,
        (None, _) => status.to_string(),
    };
    text.trim_end_matches('.').chars().take(200).collect()
}
