//! Google sign-in: the user consents in a browser, which is redirected to this machine, or pastes
//! the final address of a browser on another machine. The first of both is used.

use std::io;
use std::time::Duration;

use ::wire::oauth::{AuthorizationResponse, Callback, Pkce};
pub use ::wire::oauth::{PasteInput, PasteOutcome};

use super::files::{ClientCredentials, GoogleFile};
use super::{Google, Service, join_names};
use crate::mail::sanitized_text;
use crate::{AccountError, Secret};

/// The hint for users that Google refuses.
pub const TEST_USER_HINT: &str = "add yourself as a test user, or publish the app (Google Auth Platform, Audience, https://console.cloud.google.com/auth/audience)";

/// The time that the user has for a sign-in.
pub const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(300);

/// The maximum number of characters of a shown denial reason.
const MAX_REASON_CHARS: usize = 100;

/// A sign-in that waits for the user. Dropping it closes the port.
#[derive(Debug)]
pub struct SignIn {
    google: Google,
    client: ClientCredentials,
    pkce: Pkce,
    callback: Callback,
    services: Vec<Service>,
}

/// The outcome of a sign-in without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInOutcome {
    Connected,
    TimedOut,
}

impl Google {
    /// Starts a sign-in for `services`. Services that were granted before are requested again,
    /// because the new token replaces the old one.
    pub async fn begin_sign_in(&self, services: &[Service]) -> Result<SignIn, AccountError> {
        let mut services = [services, &self.granted_services()?].concat();
        services.sort();
        services.dedup();
        let client = self.credentials()?;
        let unusable = |error: io::Error| {
            AccountError::Unavailable(format!("there is no port to come back to: {error}"))
        };
        let callback = Callback::bind(0, "").await.map_err(unusable)?;
        let pkce = Pkce::new().map_err(|error| AccountError::Unavailable(format!("{error}.")))?;
        Ok(SignIn { google: self.clone(), client, pkce, callback, services })
    }

    /// Revokes the token at Google and removes it here, even if Google does not answer.
    pub async fn disconnect(&self) -> Result<(), AccountError> {
        if let Some(token) = self.token_to_revoke()? {
            let token = token.refresh.unwrap_or(token.access);
            let _ = self.post_form(self.endpoints.revoke.clone(), &[("token", token.reveal())]).await;
        }
        self.remove(GoogleFile::Token)?;
        self.clear_revocation()
    }
}

impl SignIn {
    /// The requested services, including those granted before.
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// The URL of the consent page.
    pub fn authorization_url(&self) -> String {
        let mut url = self.google.endpoints.consent.clone();
        let scopes: Vec<&str> = self.services.iter().map(|service| service.scope()).collect();
        url.query_pairs_mut().extend_pairs([
            ("client_id", self.client.id.as_str()),
            ("redirect_uri", &self.callback.redirect_uri()),
            ("response_type", "code"),
            ("scope", &scopes.join(" ")),
            ("access_type", "offline"),
            // Without this, a second connect yields a token without a refresh token.
            ("prompt", "consent"),
            ("state", self.callback.state().reveal()),
            ("code_challenge", &self.pkce.challenge),
            ("code_challenge_method", "S256"),
        ]);
        url.into()
    }

    /// Returns a handle for pasting the final address of a browser on another machine.
    pub fn paste(&self) -> PasteInput {
        self.callback.paste_input()
    }

    /// Waits for the consent and exchanges it for a token.
    pub async fn finish(mut self) -> Result<SignInOutcome, AccountError> {
        match self.callback.wait(SIGN_IN_TIMEOUT).await {
            Some(AuthorizationResponse::Granted { code, .. }) => {
                self.exchange_code(&code).await.map(|()| SignInOutcome::Connected)
            }
            Some(AuthorizationResponse::Denied(reason)) => Err(denied_error(&reason)),
            None => Ok(SignInOutcome::TimedOut),
        }
    }

    async fn exchange_code(&self, code: &Secret) -> Result<(), AccountError> {
        let address = self.callback.redirect_uri();
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("redirect_uri", &address),
            ("code_verifier", self.pkce.verifier.reveal()),
        ];
        match self.google.request_token(&self.client, &form).await? {
            Ok(granted) => {
                let mut token = self.google.merge_token(granted, None, &self.services);
                if !Service::ALL
                    .iter()
                    .any(|service| token.scopes.iter().any(|scope| scope == service.scope()))
                {
                    return Err(AccountError::NotConnected(format!(
                        "Google was not connected: no box was ticked. Connect once more and tick {}.",
                        join_names(&self.services)
                    )));
                }
                token.connected = Some(self.google.clock.now().timestamp());
                self.google.store_token(&token, &self.client)
            }
            Err(refused) if refused.is_invalid_grant() => Err(AccountError::NotConnected(
                "Google does not know that code any more. Connect once more.".to_owned(),
            )),
            Err(refused) => Err(refused.redacted(&[code, &self.client.secret]).into_sign_in_error()),
        }
    }
}

/// Explains why Google did not connect, with the remedy.
fn denied_error(reason: &str) -> AccountError {
    let text = match reason {
        "access_denied" => format!(
            "Google was not connected (access_denied). If you did not decline it yourself, your Google project is in \
             status Testing: {TEST_USER_HINT}. Nothing has changed."
        ),
        "admin_policy_enforced" => {
            "Google was not connected: the administrator of your Google account does not allow \
             this app. Ask them to allow it, or use another account. Nothing has changed."
                .to_owned()
        }
        reason => {
            format!(
                "Google was not connected ({}). Nothing has changed.",
                sanitized_text::single_line(reason, MAX_REASON_CHARS)
            )
        }
    };
    AccountError::NotConnected(text)
}
