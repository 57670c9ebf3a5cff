//! Shows the effect of a call after the listener's checks, or makes the call with `--send`.

use std::io::Read as _;
use std::process::ExitCode;

use domain::context::called;
use domain::delivery::Delivery;
use domain::schedule::WebhookSpec;
use engine::ports::Clock as _;
use serde_json::{Value, json};
use surfaces::hook::{self, Reply};

use super::super::answer;
use super::Desk;
use crate::cli::TestWebhook;
use crate::clock::SystemClock;
use crate::exit::Failed;

/// Placeholder for the preamble of background runs.
const PREAMBLE: &str = "(what every background run reads first)";

impl Desk<'_> {
    pub(super) async fn test(&self, wanted: TestWebhook) -> Result<ExitCode, Failed> {
        let hook = self.find(&wanted.id)?.item;
        let body = body(wanted.data.as_deref())?;
        if wanted.send {
            return self.send(&hook, &body).await;
        }
        let limit = hook.entrance.limit();
        let brought = if body.len() > limit {
            Err(Reply::no(surfaces::hook::TOO_LARGE, format!("the body has more than {limit} bytes")))
        } else {
            hook::checked(&hook, body.as_bytes()).map_err(Reply::from)
        };
        match brought {
            Ok(delivery) => {
                let (value, text) = told(&delivery);
                answer(self.output, &value, &text);
                Ok(ExitCode::SUCCESS)
            }
            Err(refused) => {
                let status = refused.status().as_u16();
                let body = refused.told();
                let value = json!({ "ok": false, "status": status, "answer": body });
                answer(self.output, &value, &format!("a caller would get {status}: {body}"));
                Ok(ExitCode::FAILURE)
            }
        }
    }

    /// Calls the running daemon over HTTP.
    async fn send(&self, hook: &WebhookSpec, body: &str) -> Result<ExitCode, Failed> {
        let place = self.address().ok_or_else(|| Failed::Configuration(self.door()))?;
        let secret = self.settings.places.webhooks.secret(hook.id.as_str()).ok_or_else(|| {
            Failed::Configuration(format!(
                "no secret is known here that {} could be called with. set WEBHOOK_PORT and WEBHOOK_SECRET as they are \
                 set for the assistant that runs.",
                hook.id
            ))
        })?;
        let now = SystemClock::new(self.settings.zone.value.clone()).now().timestamp();
        let number = getrandom::u64().map_err(|error| Failed::NotDone(error.to_string()))?;
        let id = format!("test-{number:016x}");
        let headers = hook::sign(hook.entrance.proof, &secret, &id, now, body.as_bytes());
        let address = format!("{place}{}", hook.id)
            .parse()
            .map_err(|_| Failed::NotDone(format!("{} cannot be called.", hook.id)))?;
        let client = wire::client(&address, |client| client).map_err(Failed::NotDone)?;
        let mut request =
            client.post(address).header("content-type", "application/json").body(body.to_owned());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let failed = |error: &dyn std::fmt::Display| {
            Failed::NotDone(format!("nobody answers on {place} ({error}). start it: ollim-bot"))
        };
        let response = request.send().await.map_err(|error| failed(&error))?;
        let status = response.status().as_u16();
        let text = response.text().await.map_err(|error| failed(&error))?;
        let said: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        let ok = (200..300).contains(&status);
        let value = json!({ "ok": ok, "status": status, "answer": said, "delivery": id });
        answer(self.output, &value, &format!("{status}: {said}"));
        Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn body(data: Option<&str>) -> Result<String, Failed> {
    match data {
        Some("-") => {
            let mut text = String::new();
            let read = std::io::stdin().read_to_string(&mut text);
            read.map(|_| text).map_err(|error| Failed::NotDone(format!("stdin cannot be read: {error}")))
        }
        Some(text) => Ok(text.to_owned()),
        None => Ok("{}".to_owned()),
    }
}

/// Describes the effect of a valid call.
fn told(delivery: &Delivery) -> (Value, String) {
    if let Some(words) = delivery.words() {
        let value = json!({ "ok": true, "status": 202, "deliver": words });
        return (value, format!("you would get, with no model:\n\n{words}"));
    }
    let prompt = called(delivery, PREAMBLE);
    let checked = delivery.free().is_some();
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
