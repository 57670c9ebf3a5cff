//! One sign-in: the user consents in a browser, and the returned code is exchanged for tokens.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION};
use serde_json::json;
use wire::Secret;
use wire::oauth::{AuthorizationResponse, Callback, Paste, Pkce};

use super::discovery::{Discovered, discover};
use super::token::{ClientAuth, Stored, store};
use super::{TokenStore, client_for, fetched, oauth_error, resource_of};
use crate::mcp::file::{Named, OauthClient, Server};

/// The time that the user has for a sign-in.
const PATIENCE: Duration = Duration::from_secs(300);
/// The path of the redirect address.
const CALLBACK: &str = "/callback";

/// A sign-in that waits for the user. Dropping it closes the port.
pub struct SignIn {
    server: String,
    store: Arc<dyn TokenStore>,
    discovered: Discovered,
    stored: Stored,
    pkce: Pkce,
    callback: Callback,
}

impl SignIn {
    /// Discovers where to sign in to the server `config`, and registers a client there if `mcp.json`
    /// has none.
    pub async fn begin(named: &Named, store: Arc<dyn TokenStore>) -> Result<Self, String> {
        let told = |why: String| format!("The server `{}` {why}.", named.name);
        let Server::Address { url, headers, client } = &named.server else {
            return Err(told("is a program on this machine and takes no sign-in".to_owned()));
        };
        if headers.keys().any(|name| name.eq_ignore_ascii_case(AUTHORIZATION.as_str())) {
            let why = "has an `Authorization` header in mcp.json. Remove it to sign in instead";
            return Err(told(why.to_owned()));
        }
        let url: Url = url.parse().map_err(|error| told(format!("has a wrong address ({error})")))?;
        let discovered = discover(&url).await.map_err(told)?;
        let port = client.as_ref().map_or(0, |client| client.callback_port);
        let callback = Callback::bind(port, CALLBACK).await;
        let callback = callback.map_err(|error| format!("No port is free for the redirect ({error})."))?;
        let pkce = Pkce::new().map_err(|error| format!("{error}."))?;
        let client = match client {
            Some(client) => Client::given(client, &discovered),
            None => register(&discovered, &callback.redirect_uri()).await.map_err(told)?,
        };
        let stored = Stored {
            resource: resource_of(&url),
            issuer: discovered.issuer.clone(),
            token_endpoint: discovered.token_endpoint.to_string(),
            client_id: client.id,
            client_secret: client.secret.map(|secret| secret.reveal().to_owned()),
            client_auth: client.auth,
            access_token: String::new(),
            refresh_token: None,
        };
        Ok(Self { server: named.name.clone(), store, discovered, stored, pkce, callback })
    }

    /// Returns the address that the user opens in a browser.
    pub fn address(&self) -> String {
        let mut url = self.discovered.authorization_endpoint.clone();
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &self.stored.client_id),
            ("redirect_uri", &self.callback.redirect_uri()),
            ("state", self.callback.state().reveal()),
            ("code_challenge", &self.pkce.challenge),
            ("code_challenge_method", "S256"),
            ("resource", &self.stored.resource),
        ]);
        if let Some(scope) = &self.discovered.scope {
            url.query_pairs_mut().append_pair("scope", scope);
        }
        url.into()
    }

    /// Returns the host of the authorization server.
    pub fn host(&self) -> String {
        wire::place(&self.discovered.authorization_endpoint)
    }

    /// Returns a handle for pasting the final address of a browser on another machine.
    pub fn paste(&self) -> Paste {
        self.callback.paste()
    }

    /// Waits for the user, and stores the tokens.
    pub async fn wait(mut self) -> Result<(), String> {
        let server = self.server.clone();
        let again = format!("`ollim-bot mcp-servers login {server}` tries again.");
        let (code, issuer) = match self.callback.wait(PATIENCE).await {
            Some(AuthorizationResponse::Granted { code, issuer }) => (code, issuer),
            Some(AuthorizationResponse::Denied(reason)) => {
                return Err(format!(
                    "The sign-in to `{server}` was denied ({reason}). Nothing has changed. {again}"
                ));
            }
            None => {
                let minutes = PATIENCE.as_secs() / 60;
                return Err(format!(
                    "The sign-in to `{server}` was not finished in {minutes} minutes. {again}"
                ));
            }
        };
        let is_named = match &issuer {
            Some(issuer) => *issuer == self.discovered.issuer,
            None => !self.discovered.names_issuer,
        };
        if !is_named {
            return Err(format!(
                "The sign-in to `{server}` was answered by another authorization server, so it was not used. {again}"
            ));
        }
        self.exchange(&code)
            .await
            .map_err(|why| format!("The sign-in to `{server}` failed: {why}. {again}"))?;
        store(&*self.store, &server, &self.stored).map_err(|why| format!("The server `{server}` {why}."))
    }

    async fn exchange(&mut self, code: &Secret) -> Result<(), String> {
        let redirect = self.callback.redirect_uri();
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("redirect_uri", &redirect),
            ("code_verifier", self.pkce.verifier.reveal()),
        ];
        let (status, document) = self.stored.ask(&form).await?;
        if !status.is_success() {
            return Err(oauth_error(status, &document));
        }
        if !self.stored.take(&document) {
            return Err("the answer has no token that can be used".to_owned());
        }
        Ok(())
    }
}

/// The OAuth client of a sign-in.
struct Client {
    id: String,
    secret: Option<Secret>,
    auth: ClientAuth,
}

impl Client {
    /// The client configured in `mcp.json`.
    fn given(client: &OauthClient, discovered: &Discovered) -> Self {
        let takes_post = discovered.auth_methods.iter().any(|method| method == "client_secret_post");
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
async fn register(discovered: &Discovered, redirect: &str) -> Result<Client, String> {
    let Some(endpoint) = &discovered.registration_endpoint else {
        return Err("does not register clients automatically. Register one with it, and write \
                    \"oauth\": {\"clientId\": \"...\"} beside its `url` in mcp.json"
            .to_owned());
    };
    let mut wanted = json!({
        "client_name": "ollim-bot",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    });
    if let Some(scope) = &discovered.scope {
        wanted["scope"] = json!(scope);
    }
    let request =
        client_for(endpoint)?.post(endpoint.clone()).header(ACCEPT, "application/json").json(&wanted);
    let failed = |why| format!("does not register ollim-bot as a client ({why})");
    let (status, document) = fetched(request).await.map_err(failed)?;
    let Some(id) = document["client_id"].as_str().filter(|_| status.is_success()) else {
        return Err(failed(oauth_error(status, &document)));
    };
    let secret = document["client_secret"].as_str().map(Secret::new);
    let auth = match (&secret, document["token_endpoint_auth_method"].as_str()) {
        (None, _) | (Some(_), Some("none")) => ClientAuth::None,
        (Some(_), Some("client_secret_post")) => ClientAuth::ClientSecretPost,
        (Some(_), _) => ClientAuth::ClientSecretBasic,
    };
    Ok(Client { id: id.to_owned(), secret, auth })
}
