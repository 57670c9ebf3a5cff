//! Valid access tokens: stored or refreshed.

use jiff::Timestamp;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Response, Url};
use serde::Deserialize;

use super::api_error::{self, ApiError};
use super::files::{ClientCredentials, GoogleFile, Revocation, StoredToken};
use super::{Google, Service, api_request};
use crate::{AccountError, Secret};

/// Google's token response.
#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    refresh_token: Option<String>,
    expires_in: Option<i64>,
    scope: Option<String>,
}

impl Google {
    /// Returns an access token for a request.
    pub(super) async fn access_token(&self, service: Service) -> Result<Secret, AccountError> {
        let token = self.token()?.ok_or_else(|| self.not_connected())?;
        if !Service::covered_by(&token.scopes).contains(&service) {
            return Err(not_granted(service));
        }
        if token.is_fresh(self.clock.now().timestamp()) {
            Ok(token.access)
        } else {
            self.refresh_token(token).await
        }
    }

    /// Returns another token than `refused`: one that was refreshed meanwhile, or a new one.
    pub(super) async fn replace_access_token(&self, refused: &Secret) -> Result<Secret, AccountError> {
        let token = self.token()?.ok_or_else(|| self.not_connected())?;
        if token.access == *refused { self.refresh_token(token).await } else { Ok(token.access) }
    }

    async fn refresh_token(&self, old: StoredToken) -> Result<Secret, AccountError> {
        let client = self.credentials()?;
        let Some(refresh) = old.refresh.clone() else { return Err(self.not_connected()) };
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh.reveal())];
        match self.request_token(&client, &form).await? {
            Ok(granted) => {
                let token = self.merge_token(granted, Some(&old), &[]);
                self.store_token(&token, &client)?;
                Ok(token.access)
            }
            Err(refused) if refused.is_invalid_grant() => {
                let revocation = Revocation::new(&old, self.clock.now().timestamp());
                self.mark_revoked(&refresh, &revocation)?;
                Err(AccountError::NotConnected(revocation.explanation()))
            }
            Err(refused) => Err(refused.redacted(&[&refresh, &client.secret]).into_sign_in_error()),
        }
    }

    /// Removes a revoked token, and leaves one mark for the notification of the user and one for
    /// later queries. A newer token is not removed.
    fn mark_revoked(&self, refresh: &Secret, revocation: &Revocation) -> Result<(), AccountError> {
        let stored = self.token()?;
        if stored.is_some_and(|stored| stored.refresh.as_ref() != Some(refresh)) {
            return Ok(());
        }
        self.replace(GoogleFile::Revocation, revocation.to_text().as_bytes())?;
        self.replace(GoogleFile::RevocationNotice, b"")?;
        self.remove(GoogleFile::Token)
    }

    /// Requests a token. A refusal by Google is the inner error.
    pub(super) async fn request_token(
        &self,
        client: &ClientCredentials,
        form: &[(&str, &str)],
    ) -> Result<Result<NewToken, ApiError>, AccountError> {
        let credentials = [("client_id", client.id.as_str()), ("client_secret", client.secret.reveal())];
        let form: Vec<_> = form.iter().chain(&credentials).copied().collect();
        let response = self.post_form(self.endpoints.token.clone(), &form).await?;
        if !response.status().is_success() {
            return Ok(Err(api_error::read_error(response).await));
        }
        let body = api_request::read_body(response).await?;
        match serde_json::from_slice(&body) {
            Ok(granted) => Ok(Ok(NewToken(granted))),
            Err(_) => Err(AccountError::Unreadable(
                "google answered with something else than a token. try again.".to_owned(),
            )),
        }
    }

    pub(super) async fn post_form(
        &self,
        address: Url,
        form: &[(&str, &str)],
    ) -> Result<Response, AccountError> {
        let mut encoded = address.clone();
        encoded.query_pairs_mut().clear().extend_pairs(form);
        let body = encoded.query().unwrap_or_default().to_owned();
        let request =
            self.client.post(address).header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body);
        request.send().await.map_err(|error| api_request::transport_error(&error))
    }

    /// Returns the token that was granted. Values that Google does not repeat are those of `old`;
    /// an answer without a scope grants `requested` (RFC 6749, 5.1).
    pub(super) fn merge_token(
        &self,
        NewToken(granted): NewToken,
        old: Option<&StoredToken>,
        requested: &[Service],
    ) -> StoredToken {
        let requested = || requested.iter().map(|service| service.scope().to_owned()).collect();
        let scopes = granted.scope.map(|scope| scope.split_whitespace().map(str::to_owned).collect());
        StoredToken {
            access: Secret::new(granted.access_token),
            refresh: granted.refresh_token.map(Secret::new).or_else(|| old?.refresh.clone()),
            scopes: scopes.or_else(|| Some(old?.scopes.clone())).unwrap_or_else(requested),
            expires: granted.expires_in.and_then(|seconds| self.expiry(seconds)),
            connected: old.and_then(|old| old.connected),
        }
    }

    fn expiry(&self, seconds: i64) -> Option<Timestamp> {
        // Refreshed at least once a day, whatever the response says.
        Timestamp::from_second(self.clock.now().timestamp().as_second() + seconds.clamp(0, 86_400)).ok()
    }
}

/// Explains that `service` was not granted, and the step that grants it.
pub fn not_granted(service: Service) -> AccountError {
    let name = service.name();
    AccountError::NotConnected(format!(
        "Google is connected, but not for {name}. Run `ollim-bot google connect {name}` in a terminal, or /google-auth in Discord, and tick its box."
    ))
}

/// A granted token, without `Debug`.
pub(super) struct NewToken(TokenResponse);
