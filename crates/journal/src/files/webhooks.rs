//! The webhooks: `webhooks/*.md`.

use domain::schedule::{Invalid, ItemId, Prompt, WebhookSpec};
use jiff::tz::TimeZone;

use super::items::Item;
use super::job_head::JobHead;
use crate::frontmatter::wire::{self, WebhookKeys, terms_of};
use crate::frontmatter::{BadText, Head, Value, read, split, untrue};

impl Item for WebhookSpec {
    const DIRECTORY: &'static str = "webhooks";

    fn read(text: &str, _zone: &TimeZone) -> Result<Self, BadText> {
        let split = split(text)?;
        checked(read(&split)?, Prompt::new(split.body)).map_err(|invalid| untrue(&split, invalid))
    }

    fn to_text(&self) -> String {
        Head::new()
            .text("id", self.id.as_str(), "")
            .with("fields", Some(Value::Json(self.fields.clone())))
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
    Ok(WebhookSpec { id, fields, knowing, terms: terms_of!(keys).checked()?, template })
}
