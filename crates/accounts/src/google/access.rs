//! Valid access tokens: stored or refreshed.

use jiff::Timestamp;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Response, Url};
use serde::Deserialize;

use super::files::{Credentials, File, Token, Withdrawal};
use super::refusal::{self, Refusal};
use super::{Google, Service, call};
use crate::{Secret, Trouble};

/// Google's token response.
#[derive(Deserialize)]
struct Granted {
    access_token: String,
    refresh_token: Option<String>,
    expires_in: Option<i64>,
    scope: Option<String>,
}

impl Google {
    /// Returns an access token for a request.
    pub(super) async fn access(&self, service: Service) -> Result<Secret, Trouble> {
        let token = self.token()?.ok_or_else(|| self.not_connected())?;
        if !Service::covered_by(&token.scopes).contains(&service) {
            return Err(not_granted(service));
        }
        if token.is_fresh(self.clock.now().timestamp()) { Ok(token.access) } else { self.renew(token).await }
    }

    /// Returns another token than `refused`: one that was refreshed meanwhile, or a new one.
    pub(super) async fn access_instead_of(&self, refused: &Secret) -> Result<Secret, Trouble> {
        let token = self.token()?.ok_or_else(|| self.not_connected())?;
        if token.access == *refused { self.renew(token).await } else { Ok(token.access) }
    }

    async fn renew(&self, old: Token) -> Result<Secret, Trouble> {
        let client = self.credentials()?;
        let Some(refresh) = old.refresh.clone() else { return Err(self.not_connected()) };
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh.reveal())];
        match self.ask_for_token(&client, &form).await? {
            Ok(granted) => {
                let token = self.token_of(granted, Some(&old), &[]);
                self.keep_token(&token, &client)?;
                Ok(token.access)
            }
            Err(refused) if refused.is_for_good() => {
                let withdrawal = Withdrawal::of(&old, self.clock.now().timestamp());
                self.revoked(&refresh, &withdrawal)?;
                Err(Trouble::Unconnected(withdrawal.explained()))
            }
            Err(refused) => Err(refused.hiding(&[&refresh, &client.secret]).about_sign_in()),
        }
    }

    /// Removes a revoked token, and leaves one mark for the notification of the user and one for
    /// later queries. A newer token is not removed.
    fn revoked(&self, refresh: &Secret, withdrawal: &Withdrawal) -> Result<(), Trouble> {
        let kept = self.token()?;
        if kept.is_some_and(|kept| kept.refresh.as_ref() != Some(refresh)) {
            return Ok(());
        }
        self.replace(File::Withdrawn, withdrawal.to_text().as_bytes())?;
        self.replace(File::Revoked, b"")?;
        self.remove(File::Token)
    }

    /// Requests a token. A refusal by Google is the inner error.
    pub(super) async fn ask_for_token(
        &self,
        client: &Credentials,
        form: &[(&str, &str)],
    ) -> Result<Result<GrantedToken, Refusal>, Trouble> {
        let who = [("client_id", client.id.as_str()), ("client_secret", client.secret.reveal())];
        let form: Vec<_> = form.iter().chain(&who).copied().collect();
        let response = self.post_form(self.addresses.token.clone(), &form).await?;
        if !response.status().is_success() {
            return Ok(Err(refusal::read(response).await));
        }
        let body = call::body(response).await?;
        match serde_json::from_slice(&body) {
            Ok(granted) => Ok(Ok(GrantedToken(granted))),
            Err(_) => Err(Trouble::Garbled(
                "google answered with something else than a token. try again.".to_owned(),
            )),
        }
    }

    pub(super) async fn post_form(&self, address: Url, form: &[(&str, &str)]) -> Result<Response, Trouble> {
        let mut encoded = address.clone();
        encoded.query_pairs_mut().clear().extend_pairs(form);
        let body = encoded.query().unwrap_or_default().to_owned();
        let request =
            self.client.post(address).header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body);
        request.send().await.map_err(|error| call::unanswered(&error))
    }

    /// Returns the token that was granted. Values that Google does not repeat are those of `old`;
    /// an answer without a scope grants `requested` (RFC 6749, 5.1).
    pub(super) fn token_of(
        &self,
        GrantedToken(granted): GrantedToken,
        old: Option<&Token>,
        requested: &[Service],
    ) -> Token {
        let requested = || requested.iter().map(|service| service.scope().to_owned()).collect();
        let scopes = granted.scope.map(|scope| scope.split_whitespace().map(str::to_owned).collect());
        Token {
            access: Secret::new(granted.access_token),
            refresh: granted.refresh_token.map(Secret::new).or_else(|| old?.refresh.clone()),
            scopes: scopes.or_else(|| Some(old?.scopes.clone())).unwrap_or_else(requested),
            expires: granted.expires_in.and_then(|seconds| self.in_seconds(seconds)),
            connected: old.and_then(|old| old.connected),
        }
    }

    fn in_seconds(&self, seconds: i64) -> Option<Timestamp> {
        // Refreshed at least once a day, whatever the response says.
        Timestamp::from_second(self.clock.now().timestamp().as_second() + seconds.clamp(0, 86_400)).ok()
    }
}

/// Explains that `service` was not granted, and the step that grants it.
pub fn not_granted(service: Service) -> Trouble {
    let name = service.name();
    Trouble::Unconnected(format!(
        "Google is connected, but not for {name}. Run `ollim-bot google connect {name}` in a terminal, or /google-auth in Discord, and tick its box."
    ))
}

/// A granted token, without `Debug`.
pub(super) struct GrantedToken(Granted);
