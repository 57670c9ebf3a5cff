//! The stored sign-in of a server, and the access token in it.

use std::sync::Arc;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{StatusCode, Url};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wire::Secret;

use super::{TokenStore, client_for, fetch_json, oauth_error, resource_of};

/// The client authentication at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientAuth {
    /// It has no secret.
    None,
    /// The secret is in the form.
    ClientSecretPost,
    /// The secret is in the `Authorization` header.
    ClientSecretBasic,
}

/// The stored form of a sign-in.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct StoredSignIn {
    /// The address that the tokens are for.
    pub resource: String,
    pub issuer: String,
    pub token_endpoint: String,
    pub client_id: String,
    pub client_secret: Option<String>,
    pub client_auth: ClientAuth,
    pub access_token: String,
    pub refresh_token: Option<String>,
}

/// The outcome of a refresh.
pub(in crate::mcp) enum RefreshOutcome {
    /// There is a new access token.
    Token(Secret),
    /// The sign-in has ended; the user must sign in again.
    Ended,
}

/// Provides access tokens for one server.
pub(in crate::mcp) struct TokenProvider {
    server: String,
    resource: Option<String>,
    store: Arc<dyn TokenStore>,
}

impl TokenProvider {
    pub(in crate::mcp) fn new(server: &str, url: &str, store: Arc<dyn TokenStore>) -> Self {
        let resource = url.parse().ok().map(|url| resource_of(&url));
        Self { server: server.to_owned(), resource, store }
    }

    /// Returns the stored access token. A token that was made for another address is not used.
    pub(in crate::mcp) fn token(&self) -> Result<Option<Secret>, String> {
        Ok(self.load()?.map(|stored| Secret::new(stored.access_token)))
    }

    /// Returns another token than `rejected`: one that was stored meanwhile, or a refreshed one.
    pub(in crate::mcp) async fn refresh(&self, rejected: &Secret) -> Result<RefreshOutcome, String> {
        let Some(mut stored) = self.load()? else { return Ok(RefreshOutcome::Ended) };
        if stored.access_token != rejected.reveal() {
            return Ok(RefreshOutcome::Token(Secret::new(stored.access_token)));
        }
        let Some(refresh) = stored.refresh_token.clone() else { return Ok(RefreshOutcome::Ended) };
        let form = [("grant_type", "refresh_token"), ("refresh_token", &refresh)];
        let (status, document) = stored
            .request_token(&form)
            .await
            .map_err(|why| format!("needs its sign-in refreshed, which failed ({why})"))?;
        if status.is_success() && stored.store_tokens(&document) {
            save_sign_in(&*self.store, &self.server, &stored)?;
            return Ok(RefreshOutcome::Token(Secret::new(stored.access_token)));
        }
        if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
            // Refresh tokens can be good for one use. If another process used this one first, its tokens are stored.
            let stored = self.load()?.filter(|stored| stored.access_token != rejected.reveal());
            return Ok(stored.map_or(RefreshOutcome::Ended, |stored| {
                RefreshOutcome::Token(Secret::new(stored.access_token))
            }));
        }
        let why = oauth_error(status, &document);
        Err(format!("needs its sign-in refreshed, which failed ({why})"))
    }

    fn load(&self) -> Result<Option<StoredSignIn>, String> {
        let bytes = self
            .store
            .read(&self.server)
            .map_err(|error| format!("has a sign-in that cannot be read ({error})"))?;
        let stored = bytes.and_then(|bytes| serde_json::from_slice::<StoredSignIn>(&bytes).ok());
        Ok(stored.filter(|stored| Some(&stored.resource) == self.resource.as_ref()))
    }
}

/// Stores a sign-in.
pub(super) fn save_sign_in(
    store: &dyn TokenStore,
    server: &str,
    stored: &StoredSignIn,
) -> Result<(), String> {
    let text = serde_json::to_vec(stored).map_err(|error| error.to_string())?;
    store.replace(server, &text).map_err(|error| format!("has a sign-in that cannot be stored ({error})"))
}

impl StoredSignIn {
    /// Posts `form` to the token endpoint, with the resource and the client.
    pub(super) async fn request_token(&self, form: &[(&str, &str)]) -> Result<(StatusCode, Value), String> {
        let mut form = form.to_vec();
        form.push(("resource", &self.resource));
        let secret = self.client_secret.as_deref().unwrap_or_default();
        let endpoint: Url = self.token_endpoint.parse().map_err(|_| "its address is wrong".to_owned())?;
        let mut request = client_for(&endpoint)?
            .post(endpoint)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        match self.client_auth {
            ClientAuth::None => form.push(("client_id", &self.client_id)),
            ClientAuth::ClientSecretPost => {
                form.extend([("client_id", self.client_id.as_str()), ("client_secret", secret)]);
            }
            ClientAuth::ClientSecretBasic => {
                request =
                    request.basic_auth(form_encode_text(&self.client_id), Some(form_encode_text(secret)));
            }
        }
        fetch_json(request.body(form_encode(&form))).await
    }

    /// Stores the tokens of a token response. Returns false if it has no usable one.
    pub(super) fn store_tokens(&mut self, document: &Value) -> bool {
        let is_bearer =
            document["token_type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"));
        let Some(access) = document["access_token"].as_str().filter(|token| is_bearer && !token.is_empty())
        else {
            return false;
        };
        self.access_token = access.to_owned();
        // A response without a refresh token leaves the old one valid.
        if let Some(refresh) = document["refresh_token"].as_str() {
            self.refresh_token = Some(refresh.to_owned());
        }
        true
    }
}

/// RFC 6749 section 2.3.1: both halves of the basic credentials are form-encoded first.
fn form_encode_text(text: &str) -> String {
    form_encode(&[(text, "")]).trim_end_matches('=').to_owned()
}

/// Encodes as `application/x-www-form-urlencoded`, like the query of a URL.
fn form_encode(form: &[(&str, &str)]) -> String {
    let Ok(mut url) = Url::parse("http://localhost/") else { return String::new() };
    url.query_pairs_mut().extend_pairs(form);
    url.query().unwrap_or_default().to_owned()
}
