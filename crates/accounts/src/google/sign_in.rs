//! Signing in: the human is given an address, says yes there, and comes back through a browser on this machine, or
//! by pasting the address at which a browser elsewhere ended up. The first way counts.

use std::io;
use std::time::Duration;

use ::wire::oauth::{AuthorizationResponse, Callback, Pkce};
pub use ::wire::oauth::{Paste, Pasted};

use super::files::{Credentials, File};
use super::{Google, SCOPES};
use crate::mail::legible;
use crate::{Secret, Trouble};

/// How long the human may take.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// The most characters of a reason for a denial that are shown.
const REASON: usize = 100;

/// Somebody is being waited for. Dropping it ends the waiting and closes the door.
#[derive(Debug)]
pub struct SignIn {
    google: Google,
    client: Credentials,
    pkce: Pkce,
    callback: Callback,
}

/// How signing in ended, if nothing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// We may.
    Connected,
    /// Nobody came.
    NobodyCame,
}

impl Google {
    /// Begins to wait for the human.
    pub async fn begin(&self) -> Result<SignIn, Trouble> {
        let client = self.credentials()?;
        let unusable = |error: io::Error| Trouble::Away(format!("there is no port to come back to: {error}"));
        let callback = Callback::bind(0, "").await.map_err(unusable)?;
        let pkce = Pkce::new().map_err(|error| Trouble::Away(format!("{error}.")))?;
        Ok(SignIn { google: self.clone(), client, pkce, callback })
    }

    /// Gives the token back to Google, and forgets it. That Google does not answer does not keep it here.
    pub async fn disconnect(&self) -> Result<(), Trouble> {
        if let Some(token) = self.token()? {
            let token = token.refresh.unwrap_or(token.access);
            let _ = self.post_form(self.addresses.revoke.clone(), &[("token", token.reveal())]).await;
        }
        self.remove(File::Token)?;
        self.forget_withdrawn()
    }
}

impl SignIn {
    /// The address at which the human says yes.
    pub fn url(&self) -> String {
        let mut url = self.google.addresses.consent.clone();
        url.query_pairs_mut().extend_pairs([
            ("client_id", self.client.id.as_str()),
            ("redirect_uri", &self.callback.redirect_uri()),
            ("response_type", "code"),
            ("scope", &SCOPES.join(" ")),
            ("access_type", "offline"),
            // Otherwise whoever connects a second time gets a token that cannot be renewed.
            ("prompt", "consent"),
            ("state", self.callback.state().reveal()),
            ("code_challenge", &self.pkce.challenge),
            ("code_challenge_method", "S256"),
        ]);
        url.into()
    }

    /// Where to paste the address of a browser on another machine.
    pub fn paste(&self) -> Paste {
        self.callback.paste()
    }

    /// Waits for the human, and turns their yes into a token.
    pub async fn wait(mut self) -> Result<Ended, Trouble> {
        match self.callback.wait(PATIENCE).await {
            Some(AuthorizationResponse::Granted { code, .. }) => {
                self.exchange(&code).await.map(|()| Ended::Connected)
            }
            Some(AuthorizationResponse::Denied(reason)) => {
                let reason = legible::line(&reason, REASON);
                Err(Trouble::Unconnected(format!("google was not connected: {reason}. nothing has changed.")))
            }
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
            Ok(granted) => self.google.keep_token(&self.google.token_of(granted, None), &self.client),
            Err(refused) if refused.is_for_good() => Err(Trouble::Unconnected(
                "google does not know that code any more. connect once more.".to_owned(),
            )),
            Err(refused) => Err(refused.hiding(&[code, &self.client.secret]).about_sign_in()),
        }
    }
}
