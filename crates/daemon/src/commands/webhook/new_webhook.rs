//! Creates a webhook file from command-line flags.

use std::process::ExitCode;

use domain::schedule::{InitialContext, ItemId, Prompt, RunOptions, ToolRule, WebhookIntake, WebhookSpec};
use journal::files::items::Item as _;
use journal::git::Git;
use serde_json::{Map, Value, json};
use surfaces::webhook::schema::Schema;

use super::super::print_result;
use super::WebhookCommands;
use crate::cli::NewWebhookArgs;
use crate::exit::CommandError;
use crate::webhooks;

/// The greatest length of a text field that names none.
const DEFAULT_MAX_LENGTH: u64 = 200;

impl WebhookCommands<'_> {
    pub(super) fn add(&mut self, args: NewWebhookArgs) -> Result<ExitCode, CommandError> {
        let hook = webhook_spec(&args)?;
        if self
            .items
            .find(hook.id.as_str())
            .map_err(|trouble| CommandError::Failed(trouble.to_string()))?
            .is_some()
        {
            let text = format!(
                "there is a webhook called `{}` already. edit its file, or take another name.",
                hook.id
            );
            return Err(CommandError::Usage(text));
        }
        let names = Schema::parse(&hook.fields).map_err(CommandError::Usage)?;
        if let Some(why) = webhooks::unknown_placeholder(&hook, &names.field_names()) {
            return Err(CommandError::Usage(format!("{why}. name it with --field, or write another place.")));
        }
        let path = self.items.add(&hook).map_err(|trouble| CommandError::Failed(trouble.to_string()))?;
        let git = Git::start("git");
        git.commit(&path, format!("add webhook {}", hook.id));
        git.finish();
        let trouble = webhooks::problem(self.settings, &hook);
        let trouble = trouble.map(|why| format!("\n! it can't be called yet: {why}")).unwrap_or_default();
        let text = format!("added {} ({})\n{}{trouble}", hook.id, path.display(), self.listener_text());
        let value = json!({ "id": hook.id.as_str(), "file": path, "text": hook.to_text() });
        print_result(self.output, &value, &text);
        Ok(ExitCode::SUCCESS)
    }
}

fn webhook_spec(args: &NewWebhookArgs) -> Result<WebhookSpec, CommandError> {
    let usage = |invalid: domain::schedule::InvalidField| CommandError::Usage(invalid.to_string());
    let pick = args.pick.iter().map(|pick| {
        let (name, path) = pick.split_once('=').ok_or_else(|| {
            CommandError::Usage(format!("--pick {pick}: write it like --pick repo=/repository/full_name"))
        })?;
        Ok((name.to_owned(), path.to_owned()))
    });
    let pick = pick.collect::<Result<Vec<_>, CommandError>>()?;
    let hook = WebhookSpec {
        id: ItemId::parse(&args.id).map_err(usage)?,
        fields: parse_fields(&args.field)?,
        intake: WebhookIntake::parse(args.auth.as_deref(), pick, args.max_bytes).map_err(usage)?,
        context: if args.isolated { InitialContext::PromptOnly } else { InitialContext::Main },
        options: RunOptions { tools: ToolRule::SameAsMain, ..RunOptions::default() },
        deliver: args.deliver.as_deref().map(Prompt::new),
        template: Prompt::new(args.message.as_deref().unwrap_or_default()),
    };
    hook.validated().map_err(usage)
}

/// Builds the schema from `--field` arguments.
fn parse_fields(words: &[String]) -> Result<String, CommandError> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for word in words {
        let (name, kind) = word.split_once('=').unwrap_or((word, "text"));
        let optional = name.strip_suffix('?');
        let name = optional.unwrap_or(name);
        if name.is_empty() {
            return Err(CommandError::Usage(format!("--field {word}: there is no name in it")));
        }
        properties.insert(name.to_owned(), field_schema(kind).ok_or_else(|| {
            CommandError::Usage(format!(
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

fn field_schema(kind: &str) -> Option<Value> {
    match kind {
        "text" => Some(json!({ "type": "string", "maxLength": DEFAULT_MAX_LENGTH })),
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
