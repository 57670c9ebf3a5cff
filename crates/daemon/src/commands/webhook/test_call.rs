//! Shows the effect of a call after the listener's checks, or makes the call with `--send`.

use std::io::Read as _;
use std::process::ExitCode;

use domain::context::webhook_prompt;
use domain::delivery::Delivery;
use domain::schedule::WebhookSpec;
use engine::ports::Clock as _;
use serde_json::{Value, json};
use surfaces::webhook::{self, WebhookReply};

use super::super::print_result;
use super::WebhookCommands;
use crate::cli::TestWebhookArgs;
use crate::clock::SystemClock;
use crate::exit::CommandError;

/// Placeholder for the preamble of background runs.
const PREAMBLE_PLACEHOLDER: &str = "(what every background run reads first)";

impl WebhookCommands<'_> {
    pub(super) async fn test(&self, args: TestWebhookArgs) -> Result<ExitCode, CommandError> {
        let hook = self.find(&args.id)?.item;
        let body = request_body(args.data.as_deref())?;
        if args.send {
            return self.send(&hook, &body).await;
        }
        let limit = hook.intake.size_limit();
        let brought = if body.len() > limit {
            Err(WebhookReply::refuse(
                surfaces::webhook::TOO_LARGE,
                format!("the body has more than {limit} bytes"),
            ))
        } else {
            webhook::check_payload(&hook, body.as_bytes()).map_err(WebhookReply::from)
        };
        match brought {
            Ok(delivery) => {
                let (value, text) = outcome(&delivery);
                print_result(self.output, &value, &text);
                Ok(ExitCode::SUCCESS)
            }
            Err(refused) => {
                let status = refused.status().as_u16();
                let body = refused.body();
                let value = json!({ "ok": false, "status": status, "answer": body });
                print_result(self.output, &value, &format!("a caller would get {status}: {body}"));
                Ok(ExitCode::FAILURE)
            }
        }
    }

    /// Calls the running daemon over HTTP.
    async fn send(&self, hook: &WebhookSpec, body: &str) -> Result<ExitCode, CommandError> {
        let place = self.address().ok_or_else(|| CommandError::Configuration(self.listener_text()))?;
        let secret = self.settings.integrations.webhooks.secret(hook.id.as_str()).ok_or_else(|| {
            CommandError::Configuration(format!(
                "no secret is known here that {} could be called with. set WEBHOOK_PORT and WEBHOOK_SECRET as they are \
                 set for the assistant that runs.",
                hook.id
            ))
        })?;
        let now = SystemClock::new(self.settings.zone.value.clone()).now().timestamp();
        let number = getrandom::u64().map_err(|error| CommandError::Failed(error.to_string()))?;
        let id = format!("test-{number:016x}");
        let headers = webhook::sign(hook.intake.auth, &secret, &id, now, body.as_bytes());
        let address = format!("{place}{}", hook.id)
            .parse()
            .map_err(|_| CommandError::Failed(format!("{} cannot be called.", hook.id)))?;
        let client = wire::build_client(&address, |client| client).map_err(CommandError::Failed)?;
        let mut request =
            client.post(address).header("content-type", "application/json").body(body.to_owned());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let failed = |error: &dyn std::fmt::Display| {
            CommandError::Failed(format!("nobody answers on {place} ({error}). start it: ollim-bot"))
        };
        let response = request.send().await.map_err(|error| failed(&error))?;
        let status = response.status().as_u16();
        let text = response.text().await.map_err(|error| failed(&error))?;
        let said: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        let ok = (200..300).contains(&status);
        let value = json!({ "ok": ok, "status": status, "answer": said, "delivery": id });
        print_result(self.output, &value, &format!("{status}: {said}"));
        Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn request_body(data: Option<&str>) -> Result<String, CommandError> {
    match data {
        Some("-") => {
            let mut text = String::new();
            let read = std::io::stdin().read_to_string(&mut text);
            read.map(|_| text).map_err(|error| CommandError::Failed(format!("stdin cannot be read: {error}")))
        }
        Some(text) => Ok(text.to_owned()),
        None => Ok("{}".to_owned()),
    }
}

/// Describes the effect of a valid call.
fn outcome(delivery: &Delivery) -> (Value, String) {
    if let Some(words) = delivery.verbatim_text() {
        let value = json!({ "ok": true, "status": 202, "deliver": words });
        return (value, format!("you would get, with no model:\n\n{words}"));
    }
    let prompt = webhook_prompt(delivery, PREAMBLE_PLACEHOLDER);
    let checked = delivery.free_values().is_some();
    let first = if checked {
        "a model without tools would look at the values first. if it finds them safe, the run is told:"
    } else {
        "no value can say anything of its own, so nobody looks at them first. the run is told:"
    };
    (
        json!({ "ok": true, "status": 202, "checked": checked, "prompt": prompt }),
        format!("{first}\n\n{prompt}"),
    )
}
