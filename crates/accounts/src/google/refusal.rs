//! The error responses of Google in their two formats.

use reqwest::Response;
use reqwest::header::RETRY_AFTER;
use serde_json::Value;

use super::access::not_granted;
use super::{Service, call};
use crate::mail::legible;
use crate::{Secret, Trouble};

/// The maximum number of characters of Google's message that are shown.
const WORDS: usize = 300;

/// An error response.
#[derive(Clone, Debug, Default)]
pub struct Refusal {
    status: u16,
    retry_after: Option<u64>,
    reasons: Vec<String>,
    message: String,
}

/// Parses an error response. An unreadable body still leaves the status.
pub async fn read(response: Response) -> Refusal {
    let status = response.status().as_u16();
    let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = header.and_then(|value| value.trim().parse().ok());
    let body = call::body(response).await.unwrap_or_default();
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    Refusal { retry_after, ..Refusal::of(status, &value) }
}

impl Refusal {
    fn of(status: u16, value: &Value) -> Self {
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

    fn has(&self, reasons: &[&str]) -> bool {
        self.reasons.iter().any(|reason| reasons.contains(&reason.as_str()))
    }

    /// Returns whether the grant has ended permanently.
    pub fn is_for_good(&self) -> bool {
        self.has(&["invalid_grant"])
    }

    /// Removes `secrets` from the message.
    pub fn hiding(mut self, secrets: &[&Secret]) -> Self {
        for secret in secrets {
            self.message = secret.hidden_in(&self.message);
        }
        self
    }

    /// Converts to the error of a token request.
    pub fn about_sign_in(self) -> Trouble {
        if self.has(&["invalid_client", "unauthorized_client", "deleted_client"]) {
            return Trouble::Unconnected(
                "Google does not know the client in state/credentials.json. Download the file once more (Google Auth \
                 Platform, Clients), then run `ollim-bot setup google --client-file FILE`."
                    .to_owned(),
            );
        }
        self.in_general()
    }

    /// Converts to the error of a request for `what`, such as `the task ab12`.
    pub fn about(self, what: &str, service: Service) -> Trouble {
        match self.status {
            403 if self.has(&["insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"]) => {
                not_granted(service)
            }
            404 | 410 => Trouble::Missing(format!("google has no {what}.")),
            400 | 412 | 422 => Trouble::Wrong(format!("google refuses that for {what}: {}", self.words())),
            _ => self.in_general(),
        }
    }

    fn in_general(self) -> Trouble {
        let quota = [
            "rateLimitExceeded",
            "userRateLimitExceeded",
            "quotaExceeded",
            "dailyLimitExceeded",
            "RESOURCE_EXHAUSTED",
        ];
        if self.status == 429 || self.has(&quota) {
            let wait = match self.retry_after {
                Some(seconds) => format!("try again in {seconds} s"),
                None => "try again in a few minutes".to_owned(),
            };
            return Trouble::Away(format!("google says that we ask too often. {wait}."));
        }
        if self.has(&["accessNotConfigured", "SERVICE_DISABLED"]) {
            let words = self.words();
            return Trouble::Unconnected(format!(
                "That API is not enabled in your Google project. Enable it there, wait a minute and try again. Google says: {words}"
            ));
        }
        match self.status {
            401 => Trouble::Unconnected(
                "Google does not accept the token. Run `ollim-bot google disconnect`, then `ollim-bot google connect`.".to_owned(),
            ),
            500.. => {
                Trouble::Away(format!("google has trouble of its own ({}). try again later.", self.status))
            }
            _ => Trouble::Garbled(format!("google refuses with {}: {}", self.status, self.words())),
        }
    }

    fn words(&self) -> String {
        match legible::line(&self.message, WORDS) {
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

    fn refusal(status: u16, value: &Value) -> Refusal {
        Refusal::of(status, value)
    }

    #[test]
    fn a_refusal_says_who_must_act() {
        let check = |status: u16, value: Value, expected: Trouble| {
            assert_eq!(refusal(status, &value).about("task `x`", Service::Tasks), expected);
        };
        let quota = json!({ "error": { "code": 403, "message": "Quota exceeded", "status": "PERMISSION_DENIED",
            "errors": [{ "domain": "usageLimits", "reason": "userRateLimitExceeded", "message": "q" }] } });
        let away = |text: &str| Trouble::Away(text.to_owned());
        check(403, quota, away("google says that we ask too often. try again in a few minutes."));
        check(404, json!({}), Trouble::Missing("google has no task `x`.".to_owned()));
        check(503, Value::Null, away("google has trouble of its own (503). try again later."));
        let bad = json!({ "error": { "code": 400, "message": "Invalid\nvalue \u{1b}[2J" } });
        check(400, bad, Trouble::Wrong("google refuses that for task `x`: Invalid value [2J".to_owned()));
        let disabled = json!({ "error": { "code": 403, "message": "Enable it.", "details": [
            { "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "SERVICE_DISABLED" }] } });
        let trouble = refusal(403, &disabled).about("x", Service::Tasks).to_string();
        assert!(
            trouble.starts_with("That API is not enabled in your Google project. Enable it there"),
            "{trouble}"
        );
        let scopes = json!({ "error": { "errors": [{ "reason": "insufficientPermissions" }] } });
        assert!(refusal(403, &scopes).about("x", Service::Tasks).to_string().ends_with("tick its box."));
    }

    #[test]
    fn only_an_invalid_grant_is_for_good() {
        let grant =
            json!({ "error": "invalid_grant", "error_description": "Token has been expired or revoked." });
        assert!(refusal(400, &grant).is_for_good());
        for (status, value) in [
            (500, json!({ "error": "internal_failure" })),
            (400, json!({ "error": "invalid_client" })),
            (400, Value::Null),
            (429, json!({ "error": { "message": "slow down" } })),
        ] {
            assert!(!refusal(status, &value).is_for_good(), "{value}");
        }
    }
}
