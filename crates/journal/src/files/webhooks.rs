//! The webhooks: `webhooks/*.md`.

use domain::schedule::{InvalidField, ItemId, Prompt, WebhookAuth, WebhookIntake, WebhookSpec};
use jiff::tz::TimeZone;

use super::items::Item;
use super::job_keys::WriteJobKeys;
use crate::frontmatter::wire::{self, WebhookKeys, terms_of};
use crate::frontmatter::{BadText, FrontmatterBuilder, Value, invalid_value, read, split, webhook_keys};

impl Item for WebhookSpec {
    const DIRECTORY: &'static str = "webhooks";

    fn keys() -> &'static [&'static str] {
        webhook_keys()
    }

    fn read(text: &str, _zone: &TimeZone) -> Result<Self, BadText> {
        let split = split(text)?;
        build_webhook(read(&split)?, Prompt::new(split.body))
            .map_err(|invalid| invalid_value(&split, invalid))
    }

    fn to_text(&self) -> String {
        FrontmatterBuilder::new()
            .text("id", self.id.as_str(), "")
            .with("fields", Some(Value::Json(self.fields.clone())))
            .entrance(&self.intake)
            .with("deliver", self.deliver.as_ref().map(|words| Value::Text(words.as_str().to_owned())))
            .isolated(self.context)
            .model_and_thinking(&self.options)
            .pings(self.options.report_policy.pings)
            .reporting(self.options.report_policy.reporting)
            .tools(&self.options.tools)
            .with_body(self.template.as_str())
    }

    fn id(&self) -> &ItemId {
        &self.id
    }

    fn naming_text(&self) -> &str {
        self.id.as_str()
    }
}

fn build_webhook(keys: WebhookKeys, template: Prompt) -> Result<WebhookSpec, InvalidField> {
    let id = wire::id(keys.id)?;
    let fields = serde_json::Value::Object(wire::required("fields", keys.fields)?).to_string();
    let knowing = wire::isolation(keys.isolated);
    let pick = keys.pick.unwrap_or_default().into_iter().collect();
    let entrance = WebhookIntake::parse(keys.auth.as_deref(), pick, keys.max_bytes)?;
    let deliver = keys.deliver.as_deref().map(Prompt::new);
    let terms = terms_of!(keys).checked()?;
    WebhookSpec { id, fields, intake: entrance, context: knowing, options: terms, deliver, template }
        .validated()
}

/// Writes the keys that only a webhook has. Defaults are left out.
trait WriteWebhookKeys {
    fn entrance(self, entrance: &WebhookIntake) -> Self;
}

impl WriteWebhookKeys for FrontmatterBuilder {
    fn entrance(self, entrance: &WebhookIntake) -> Self {
        let pick: serde_json::Map<String, serde_json::Value> =
            entrance.pick.iter().map(|(name, path)| (name.clone(), path.as_str().into())).collect();
        let pick = (!pick.is_empty()).then(|| Value::Json(serde_json::Value::Object(pick).to_string()));
        self.text("auth", entrance.auth.as_str(), WebhookAuth::default().as_str())
            .with("pick", pick)
            .with("max-bytes", entrance.max_bytes.map(Value::Number))
    }
}
