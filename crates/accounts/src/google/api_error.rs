//! The error responses of Google in their two formats.

use reqwest::Response;
use reqwest::header::RETRY_AFTER;
use serde_json::Value;

use super::access_token::not_granted;
use super::{Service, api_request};
use crate::mail::sanitized_text;
use crate::{AccountError, Secret};

/// The maximum number of characters of Google's message that are shown.
const MAX_MESSAGE_CHARS: usize = 300;

/// An error response.
#[derive(Clone, Debug, Default)]
pub struct ApiError {
    status: u16,
    retry_after: Option<u64>,
    reasons: Vec<String>,
    message: String,
}

/// Parses an error response. An unreadable body still leaves the status.
pub async fn read_error(response: Response) -> ApiError {
    let status = response.status().as_u16();
    let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = header.and_then(|value| value.trim().parse().ok());
    let body = api_request::read_body(response).await.unwrap_or_default();
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    ApiError { retry_after, ..ApiError::from_json(status, &value) }
}

impl ApiError {
    fn from_json(status: u16, value: &Value) -> Self {
        let error = &value["error"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let many =
            |name: &str| error[name].as_array().into_iter().flatten().filter_map(|one| text(&one["reason"]));
        let reasons = [text(error), text(&error["status"])].into_iter().flatten();
        Self {
            status,
            retry_after: None,
            reasons: reasons.chain(many("errors")).chain(many("details")).collect(),
            message: text(&error["message"])
                .or_else(|| text(&value["error_description"]))
                .unwrap_or_default(),
        }
    }

    fn has_reason(&self, reasons: &[&str]) -> bool {
        self.reasons.iter().any(|reason| reasons.contains(&reason.as_str()))
    }

    /// Returns whether the grant has ended permanently.
    pub fn is_invalid_grant(&self) -> bool {
        self.has_reason(&["invalid_grant"])
    }

    /// Removes `secrets` from the message.
    pub fn redacted(mut self, secrets: &[&Secret]) -> Self {
        for secret in secrets {
            self.message = secret.redact(&self.message);
        }
        self
    }

    /// Converts to the error of a token request.
    pub fn into_sign_in_error(self) -> AccountError {
        if self.has_reason(&["invalid_client", "unauthorized_client", "deleted_client"]) {
            return AccountError::NotConnected(
                "Google does not know the client in state/credentials.json. Download the file once more (Google Auth \
                 Platform, Clients), then run `ollim-bot setup google --client-file FILE`."
                    .to_owned(),
            );
        }
        self.into_general_error()
    }

    /// Converts to the error of a request for `what`, such as `the task ab12`.
    pub fn into_error(self, what: &str, service: Service) -> AccountError {
        match self.status {
            403 if self.has_reason(&["insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"]) => {
                not_granted(service)
            }
            404 | 410 => AccountError::NotFound(format!("google has no {what}.")),
            400 | 412 | 422 => AccountError::InvalidRequest(format!(
                "google refuses that for {what}: {}",
                self.display_text()
            )),
            _ => self.into_general_error(),
        }
    }

    fn into_general_error(self) -> AccountError {
        let quota = [
            "rateLimitExceeded",
            "userRateLimitExceeded",
            "quotaExceeded",
            "dailyLimitExceeded",
            "RESOURCE_EXHAUSTED",
        ];
        if self.status == 429 || self.has_reason(&quota) {
            let wait = match self.retry_after {
                Some(seconds) => format!("try again in {seconds} s"),
                None => "try again in a few minutes".to_owned(),
            };
            return AccountError::Unavailable(format!("google says that we ask too often. {wait}."));
        }
        if self.has_reason(&["accessNotConfigured", "SERVICE_DISABLED"]) {
            let words = self.display_text();
            return AccountError::NotConnected(format!(
                "That API is not enabled in your Google project. Enable it there, wait a minute and try again. Google says: {words}"
            ));
        }
        match self.status {
            401 => AccountError::NotConnected(
                "Google does not accept the token. Run `ollim-bot google disconnect`, then `ollim-bot google connect`.".to_owned(),
            ),
            500.. => {
                AccountError::Unavailable(format!("google has trouble of its own ({}). try again later.", self.status))
            }
            _ => AccountError::Unreadable(format!("google refuses with {}: {}", self.status, self.display_text())),
        }
    }

    fn display_text(&self) -> String {
        match sanitized_text::single_line(&self.message, MAX_MESSAGE_CHARS) {
            words if words.is_empty() => {
                self.reasons.first().cloned().unwrap_or("it gives no reason.".to_owned())
            }
            words => words,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn api_error(status: u16, value: &Value) -> ApiError {
        ApiError::from_json(status, value)
    }

    #[test]
    fn error_says_who_must_act() {
        let check = |status: u16, value: Value, expected: AccountError| {
            assert_eq!(api_error(status, &value).into_error("task `x`", Service::Tasks), expected);
        };
        let quota = json!({ "error": { "code": 403, "message": "Quota exceeded", "status": "PERMISSION_DENIED",
            "errors": [{ "domain": "usageLimits", "reason": "userRateLimitExceeded", "message": "q" }] } });
        let away = |text: &str| AccountError::Unavailable(text.to_owned());
        check(403, quota, away("google says that we ask too often. try again in a few minutes."));
        check(404, json!({}), AccountError::NotFound("google has no task `x`.".to_owned()));
        check(503, Value::Null, away("google has trouble of its own (503). try again later."));
        let bad = json!({ "error": { "code": 400, "message": "Invalid\nvalue \u{1b}[2J" } });
        check(
            400,
            bad,
            AccountError::InvalidRequest("google refuses that for task `x`: Invalid value [2J".to_owned()),
        );
        let disabled = json!({ "error": { "code": 403, "message": "Enable it.", "details": [
            { "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "SERVICE_DISABLED" }] } });
        let trouble = api_error(403, &disabled).into_error("x", Service::Tasks).to_string();
        assert!(
            trouble.starts_with("That API is not enabled in your Google project. Enable it there"),
            "{trouble}"
        );
        let scopes = json!({ "error": { "errors": [{ "reason": "insufficientPermissions" }] } });
        assert!(
            api_error(403, &scopes).into_error("x", Service::Tasks).to_string().ends_with("tick its box.")
        );
    }

    #[test]
    fn only_invalid_grant_is_permanent() {
        let grant =
            json!({ "error": "invalid_grant", "error_description": "Token has been expired or revoked." });
        assert!(api_error(400, &grant).is_invalid_grant());
        for (status, value) in [
            (500, json!({ "error": "internal_failure" })),
            (400, json!({ "error": "invalid_client" })),
            (400, Value::Null),
            (429, json!({ "error": { "message": "slow down" } })),
        ] {
            assert!(!api_error(status, &value).is_invalid_grant(), "{value}");
        }
    }
}
