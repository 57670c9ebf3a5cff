//! Google sign-in: the user consents in a browser, which is redirected to this machine, or pastes
//! the final address of a browser on another machine. The first of both is used.

use std::io;
use std::time::Duration;

use ::wire::oauth::{AuthorizationResponse, Callback, Pkce};
pub use ::wire::oauth::{Paste, Pasted};

use super::files::{Credentials, File};
use super::{Google, Service, sentence};
use crate::mail::legible;
use crate::{Secret, Trouble};

/// The hint for users that Google refuses.
pub const TEST_USER: &str = "add yourself as a test user, or publish the app (Google Auth Platform, Audience, https://console.cloud.google.com/auth/audience)";

/// The time that the user has for a sign-in.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// The maximum number of characters of a shown denial reason.
const REASON: usize = 100;

/// A sign-in that waits for the user. Dropping it closes the port.
#[derive(Debug)]
pub struct SignIn {
    google: Google,
    client: Credentials,
    pkce: Pkce,
    callback: Callback,
    services: Vec<Service>,
}

/// The outcome of a sign-in without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Connected,
    NobodyCame,
}

impl Google {
    /// Starts a sign-in for `services`. Services that were granted before are requested again,
    /// because the new token replaces the old one.
    pub async fn begin(&self, services: &[Service]) -> Result<SignIn, Trouble> {
        let mut services = [services, &self.granted()?].concat();
        services.sort();
        services.dedup();
        let client = self.credentials()?;
        let unusable = |error: io::Error| Trouble::Away(format!("there is no port to come back to: {error}"));
        let callback = Callback::bind(0, "").await.map_err(unusable)?;
        let pkce = Pkce::new().map_err(|error| Trouble::Away(format!("{error}.")))?;
        Ok(SignIn { google: self.clone(), client, pkce, callback, services })
    }

    /// Revokes the token at Google and removes it here, even if Google does not answer.
    pub async fn disconnect(&self) -> Result<(), Trouble> {
        if let Some(token) = self.token_to_revoke()? {
            let token = token.refresh.unwrap_or(token.access);
            let _ = self.post_form(self.addresses.revoke.clone(), &[("token", token.reveal())]).await;
        }
        self.remove(File::Token)?;
        self.forget_withdrawn()
    }
}

impl SignIn {
    /// The requested services, including those granted before.
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// The URL of the consent page.
    pub fn url(&self) -> String {
        let mut url = self.google.addresses.consent.clone();
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
    pub fn paste(&self) -> Paste {
        self.callback.paste()
    }

    /// Waits for the consent and exchanges it for a token.
    pub async fn wait(mut self) -> Result<Ended, Trouble> {
        match self.callback.wait(PATIENCE).await {
            Some(AuthorizationResponse::Granted { code, .. }) => {
                self.exchange(&code).await.map(|()| Ended::Connected)
            }
            Some(AuthorizationResponse::Denied(reason)) => Err(denied(&reason)),
            None => Ok(Ended::NobodyCame),
        }
    }

    async fn exchange(&self, code: &Secret) -> Result<(), Trouble> {
        let address = self.callback.redirect_uri();
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("redirect_uri", &address),
            ("code_verifier", self.pkce.verifier.reveal()),
        ];
        match self.google.ask_for_token(&self.client, &form).await? {
            Ok(granted) => {
                let mut token = self.google.token_of(granted, None, &self.services);
                if !Service::ALL
                    .iter()
                    .any(|service| token.scopes.iter().any(|scope| scope == service.scope()))
                {
                    return Err(Trouble::Unconnected(format!(
                        "Google was not connected: no box was ticked. Connect once more and tick {}.",
                        sentence(&self.services)
                    )));
                }
                token.connected = Some(self.google.clock.now().timestamp());
                self.google.keep_token(&token, &self.client)
            }
            Err(refused) if refused.is_for_good() => Err(Trouble::Unconnected(
                "Google does not know that code any more. Connect once more.".to_owned(),
            )),
            Err(refused) => Err(refused.hiding(&[code, &self.client.secret]).about_sign_in()),
        }
    }
}

/// Explains why Google did not connect, with the remedy.
fn denied(reason: &str) -> Trouble {
    let text = match reason {
        "access_denied" => format!(
            "Google was not connected (access_denied). If you did not decline it yourself, your Google project is in \
             status Testing: {TEST_USER}. Nothing has changed."
        ),
        "admin_policy_enforced" => {
            "Google was not connected: the administrator of your Google account does not allow \
             this app. Ask them to allow it, or use another account. Nothing has changed."
                .to_owned()
        }
        reason => {
            format!("Google was not connected ({}). Nothing has changed.", legible::line(reason, REASON))
        }
    };
    Trouble::Unconnected(text)
}
