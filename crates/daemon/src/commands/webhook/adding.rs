//! Creates a webhook file from command-line flags.

use std::process::ExitCode;

use domain::schedule::{Entrance, ItemId, Knowing, Prompt, Terms, ToolRule, WebhookSpec};
use journal::files::items::Item as _;
use journal::git::Git;
use serde_json::{Map, Value, json};
use surfaces::hook::schema::Schema;

use super::super::answer;
use super::Desk;
use crate::cli::NewWebhook;
use crate::exit::Failed;
use crate::hooks;

/// The greatest length of a text field that names none.
const CHARS: u64 = 200;

impl Desk<'_> {
    pub(super) fn add(&mut self, wanted: NewWebhook) -> Result<ExitCode, Failed> {
        let hook = hook(&wanted)?;
        if self
            .items
            .find(hook.id.as_str())
            .map_err(|trouble| Failed::NotDone(trouble.to_string()))?
            .is_some()
        {
            let text = format!(
                "there is a webhook called `{}` already. edit its file, or take another name.",
                hook.id
            );
            return Err(Failed::Usage(text));
        }
        let names = Schema::read(&hook.fields).map_err(Failed::Usage)?;
        if let Some(why) = hooks::unfilled(&hook, &names.names()) {
            return Err(Failed::Usage(format!("{why}. name it with --field, or write another place.")));
        }
        let path = self.items.add(&hook).map_err(|trouble| Failed::NotDone(trouble.to_string()))?;
        let git = Git::start("git");
        git.commit(&path, format!("add webhook {}", hook.id));
        git.finish();
        let trouble = hooks::trouble(self.settings, &hook);
        let trouble = trouble.map(|why| format!("\n! it can't be called yet: {why}")).unwrap_or_default();
        let text = format!("added {} ({})\n{}{trouble}", hook.id, path.display(), self.door());
        let value = json!({ "id": hook.id.as_str(), "file": path, "text": hook.to_text() });
        answer(self.output, &value, &text);
        Ok(ExitCode::SUCCESS)
    }
}

fn hook(wanted: &NewWebhook) -> Result<WebhookSpec, Failed> {
    let usage = |invalid: domain::schedule::Invalid| Failed::Usage(invalid.to_string());
    let pick = wanted.pick.iter().map(|pick| {
        let (name, path) = pick.split_once('=').ok_or_else(|| {
            Failed::Usage(format!("--pick {pick}: write it like --pick repo=/repository/full_name"))
        })?;
        Ok((name.to_owned(), path.to_owned()))
    });
    let pick = pick.collect::<Result<Vec<_>, Failed>>()?;
    let hook = WebhookSpec {
        id: ItemId::parse(&wanted.id).map_err(usage)?,
        fields: fields(&wanted.field)?,
        entrance: Entrance::read(wanted.auth.as_deref(), pick, wanted.max_bytes).map_err(usage)?,
        knowing: if wanted.isolated { Knowing::Itself } else { Knowing::Main },
        terms: Terms { tools: ToolRule::Usual, ..Terms::default() },
        deliver: wanted.deliver.as_deref().map(Prompt::new),
        template: Prompt::new(wanted.message.as_deref().unwrap_or_default()),
    };
    hook.checked().map_err(usage)
}

/// Builds the schema from `--field` arguments.
fn fields(words: &[String]) -> Result<String, Failed> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for word in words {
        let (name, kind) = word.split_once('=').unwrap_or((word, "text"));
        let optional = name.strip_suffix('?');
        let name = optional.unwrap_or(name);
        if name.is_empty() {
            return Err(Failed::Usage(format!("--field {word}: there is no name in it")));
        }
        properties.insert(name.to_owned(), kind_of(kind).ok_or_else(|| {
            Failed::Usage(format!(
                "--field {word}: `{kind}` is unknown; write text, text:80, number, integer, yes-no, or words like passed|failed"
            ))
        })?);
        if optional.is_none() {
            required.push(Value::from(name));
        }
    }
    let schema = json!({
        "type": "object", "required": required, "additionalProperties": false, "properties": properties,
    });
    Ok(schema.to_string())
}

fn kind_of(kind: &str) -> Option<Value> {
    match kind {
        "text" => Some(json!({ "type": "string", "maxLength": CHARS })),
        "number" => Some(json!({ "type": "number" })),
        "integer" => Some(json!({ "type": "integer" })),
        "yes-no" => Some(json!({ "type": "boolean" })),
        words if words.contains('|') => {
            let words: Vec<&str> = words.split('|').map(str::trim).collect();
            Some(json!({ "type": "string", "enum": words }))
        }
        text => {
            let length: u64 = text.strip_prefix("text:")?.parse().ok()?;
            Some(json!({ "type": "string", "maxLength": length }))
        }
    }
}
