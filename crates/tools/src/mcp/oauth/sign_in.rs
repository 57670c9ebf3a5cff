//! One sign-in: the user consents in a browser, and the returned code is exchanged for tokens.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION};
use serde_json::json;
use wire::Secret;
use wire::oauth::{AuthorizationResponse, Callback, PasteInput, Pkce};

use super::discovery::{AuthorizationServer, discover};
use super::token::{ClientAuth, StoredSignIn, save_sign_in};
use super::{TokenStore, client_for, fetch_json, oauth_error, resource_of};
use crate::mcp::config::{OauthClient, ServerConfig, ServerEndpoint};

/// The time that the user has for a sign-in.
const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(300);
/// The path of the redirect address.
const CALLBACK_PATH: &str = "/callback";

/// A sign-in that waits for the user. Dropping it closes the port.
pub struct SignIn {
    server: String,
    store: Arc<dyn TokenStore>,
    authorization_server: AuthorizationServer,
    tokens: StoredSignIn,
    pkce: Pkce,
    callback: Callback,
}

impl SignIn {
    /// Discovers where to sign in to the server `config`, and registers a client there if `mcp.json`
    /// has none.
    pub async fn begin(config: &ServerConfig, store: Arc<dyn TokenStore>) -> Result<Self, String> {
        let describe = |why: String| format!("The server `{}` {why}.", config.name);
        let ServerEndpoint::Address { url, headers, client } = &config.endpoint else {
            return Err(describe("is a program on this machine and takes no sign-in".to_owned()));
        };
        if headers.keys().any(|name| name.eq_ignore_ascii_case(AUTHORIZATION.as_str())) {
            let why = "has an `Authorization` header in mcp.json. Remove it to sign in instead";
            return Err(describe(why.to_owned()));
        }
        let url: Url = url.parse().map_err(|error| describe(format!("has a wrong address ({error})")))?;
        let authorization_server = discover(&url).await.map_err(describe)?;
        let port = client.as_ref().map_or(0, |client| client.callback_port);
        let callback = Callback::bind(port, CALLBACK_PATH).await;
        let callback = callback.map_err(|error| format!("No port is free for the redirect ({error})."))?;
        let pkce = Pkce::new().map_err(|error| format!("{error}."))?;
        let client = match client {
            Some(client) => OauthIdentity::from_config(client, &authorization_server),
            None => {
                register_client(&authorization_server, &callback.redirect_uri()).await.map_err(describe)?
            }
        };
        let tokens = StoredSignIn {
            resource: resource_of(&url),
            issuer: authorization_server.issuer.clone(),
            token_endpoint: authorization_server.token_endpoint.to_string(),
            client_id: client.id,
            client_secret: client.secret.map(|secret| secret.reveal().to_owned()),
            client_auth: client.auth,
            access_token: String::new(),
            refresh_token: None,
        };
        Ok(Self { server: config.name.clone(), store, authorization_server, tokens, pkce, callback })
    }

    /// Returns the address that the user opens in a browser.
    pub fn authorization_url(&self) -> String {
        let mut url = self.authorization_server.authorization_endpoint.clone();
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &self.tokens.client_id),
            ("redirect_uri", &self.callback.redirect_uri()),
            ("state", self.callback.state().reveal()),
            ("code_challenge", &self.pkce.challenge),
            ("code_challenge_method", "S256"),
            ("resource", &self.tokens.resource),
        ]);
        if let Some(scope) = &self.authorization_server.scope {
            url.query_pairs_mut().append_pair("scope", scope);
        }
        url.into()
    }

    /// Returns the host of the authorization server.
    pub fn authorization_host(&self) -> String {
        wire::host_and_port(&self.authorization_server.authorization_endpoint)
    }

    /// Returns a handle for pasting the final address of a browser on another machine.
    pub fn paste(&self) -> PasteInput {
        self.callback.paste_input()
    }

    /// Waits for the user, and stores the tokens.
    pub async fn finish(mut self) -> Result<(), String> {
        let server = self.server.clone();
        let retry_hint = format!("`ollim-bot mcp-servers login {server}` tries again.");
        let (code, issuer) = match self.callback.wait(SIGN_IN_TIMEOUT).await {
            Some(AuthorizationResponse::Granted { code, issuer }) => (code, issuer),
            Some(AuthorizationResponse::Denied(reason)) => {
                return Err(format!(
                    "The sign-in to `{server}` was denied ({reason}). Nothing has changed. {retry_hint}"
                ));
            }
            None => {
                let minutes = SIGN_IN_TIMEOUT.as_secs() / 60;
                return Err(format!(
                    "The sign-in to `{server}` was not finished in {minutes} minutes. {retry_hint}"
                ));
            }
        };
        let issuer_matches = match &issuer {
            Some(issuer) => *issuer == self.authorization_server.issuer,
            None => !self.authorization_server.requires_issuer,
        };
        if !issuer_matches {
            return Err(format!(
                "The sign-in to `{server}` was answered by another authorization server, so it was not used. {retry_hint}"
            ));
        }
        self.exchange_code(&code)
            .await
            .map_err(|why| format!("The sign-in to `{server}` failed: {why}. {retry_hint}"))?;
        save_sign_in(&*self.store, &server, &self.tokens)
            .map_err(|why| format!("The server `{server}` {why}."))
    }

    async fn exchange_code(&mut self, code: &Secret) -> Result<(), String> {
        let redirect = self.callback.redirect_uri();
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("redirect_uri", &redirect),
            ("code_verifier", self.pkce.verifier.reveal()),
        ];
        let (status, document) = self.tokens.request_token(&form).await?;
        if !status.is_success() {
            return Err(oauth_error(status, &document));
        }
        if !self.tokens.store_tokens(&document) {
            return Err("the answer has no token that can be used".to_owned());
        }
        Ok(())
    }
}

/// The OAuth client of a sign-in.
struct OauthIdentity {
    id: String,
    secret: Option<Secret>,
    auth: ClientAuth,
}

impl OauthIdentity {
    /// The client configured in `mcp.json`.
    fn from_config(client: &OauthClient, authorization_server: &AuthorizationServer) -> Self {
        let takes_post =
            authorization_server.auth_methods.iter().any(|method| method == "client_secret_post");
        let auth = match &client.client_secret {
            None => ClientAuth::None,
            Some(_) if takes_post => ClientAuth::ClientSecretPost,
            // The default of RFC 8414.
            Some(_) => ClientAuth::ClientSecretBasic,
        };
        Self { id: client.client_id.clone(), secret: client.client_secret.clone(), auth }
    }
}

/// Registers a native client without a secret (RFC 7591).
async fn register_client(
    authorization_server: &AuthorizationServer,
    redirect: &str,
) -> Result<OauthIdentity, String> {
    let Some(endpoint) = &authorization_server.registration_endpoint else {
        return Err("does not register clients automatically. Register one with it, and write \
                    \"oauth\": {\"clientId\": \"...\"} beside its `url` in mcp.json"
            .to_owned());
    };
    let mut metadata = json!({
        "client_name": "ollim-bot",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    });
    if let Some(scope) = &authorization_server.scope {
        metadata["scope"] = json!(scope);
    }
    let request =
        client_for(endpoint)?.post(endpoint.clone()).header(ACCEPT, "application/json").json(&metadata);
    let failed = |why| format!("does not register ollim-bot as a client ({why})");
    let (status, document) = fetch_json(request).await.map_err(failed)?;
    let Some(id) = document["client_id"].as_str().filter(|_| status.is_success()) else {
        return Err(failed(oauth_error(status, &document)));
    };
    let secret = document["client_secret"].as_str().map(Secret::new);
    let auth = match (&secret, document["token_endpoint_auth_method"].as_str()) {
        (None, _) | (Some(_), Some("none")) => ClientAuth::None,
        (Some(_), Some("client_secret_post")) => ClientAuth::ClientSecretPost,
        (Some(_), _) => ClientAuth::ClientSecretBasic,
    };
    Ok(OauthIdentity { id: id.to_owned(), secret, auth })
}
