//! The webhooks: `webhooks/*.md`.

use domain::schedule::{Entrance, Invalid, ItemId, Prompt, Proof, WebhookSpec};
use jiff::tz::TimeZone;

use super::items::Item;
use super::job_head::JobHead;
use crate::frontmatter::wire::{self, WebhookKeys, terms_of};
use crate::frontmatter::{BadText, Head, Value, read, split, untrue, webhook_keys};

impl Item for WebhookSpec {
    const DIRECTORY: &'static str = "webhooks";

    fn keys() -> &'static [&'static str] {
        webhook_keys()
    }

    fn read(text: &str, _zone: &TimeZone) -> Result<Self, BadText> {
        let split = split(text)?;
        checked(read(&split)?, Prompt::new(split.body)).map_err(|invalid| untrue(&split, invalid))
    }

    fn to_text(&self) -> String {
        Head::new()
            .text("id", self.id.as_str(), "")
            .with("fields", Some(Value::Json(self.fields.clone())))
            .entrance(&self.entrance)
            .with("deliver", self.deliver.as_ref().map(|words| Value::Text(words.as_str().to_owned())))
            .isolated(self.knowing)
            .model_and_thinking(&self.terms)
            .pings(self.terms.voice.pings)
            .reporting(self.terms.voice.reporting)
            .tools(&self.terms.tools)
            .above(self.template.as_str())
    }

    fn id(&self) -> &ItemId {
        &self.id
    }

    fn words(&self) -> &str {
        self.id.as_str()
    }
}

fn checked(keys: WebhookKeys, template: Prompt) -> Result<WebhookSpec, Invalid> {
    let id = wire::id(keys.id)?;
    let fields = serde_json::Value::Object(wire::required("fields", keys.fields)?).to_string();
    let knowing = wire::knowing(keys.isolated);
    let pick = keys.pick.unwrap_or_default().into_iter().collect();
    let entrance = Entrance::read(keys.auth.as_deref(), pick, keys.max_bytes)?;
    let deliver = keys.deliver.as_deref().map(Prompt::new);
    let terms = terms_of!(keys).checked()?;
    WebhookSpec { id, fields, entrance, knowing, terms, deliver, template }.checked()
}

/// Writes the keys that only a webhook has. Defaults are left out.
trait WebhookHead {
    fn entrance(self, entrance: &Entrance) -> Self;
}

impl WebhookHead for Head {
    fn entrance(self, entrance: &Entrance) -> Self {
        let pick: serde_json::Map<String, serde_json::Value> =
            entrance.pick.iter().map(|(name, path)| (name.clone(), path.as_str().into())).collect();
        let pick = (!pick.is_empty()).then(|| Value::Json(serde_json::Value::Object(pick).to_string()));
        self.text("auth", entrance.proof.as_str(), Proof::default().as_str())
            .with("pick", pick)
            .with("max-bytes", entrance.bytes.map(Value::Number))
    }
}
