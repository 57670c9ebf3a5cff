//! `ollim-bot webhook`: lists, shows, adds, removes and tests webhooks.

mod new_webhook;
mod test_call;

use std::process::ExitCode;
use std::sync::Arc;

use domain::schedule::{WebhookSpec, template};
use journal::disk::Disk;
use journal::files::items::{ItemDirectory, ItemFile};
use journal::git::Git;
use journal::{AcceptedPermissions, PermissionRequests};
use serde_json::{Value, json};
use surfaces::webhook::schema::Schema;

use super::print_result;
use crate::checks::running_daemon::{RESTART_COMMAND, RunningDaemon};
use crate::cli::{Output, WebhookAction};
use crate::consent;
use crate::exit::CommandError;
use crate::settings::{Settings, WebhookSettings};
use crate::webhooks;

pub async fn run(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    action: WebhookAction,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    // `ollim-bot status` reports an unresponsive daemon; the files can be shown without it.
    let running = RunningDaemon::query(&settings.paths).await.ok().flatten();
    let mut desk =
        WebhookCommands { settings, items: webhooks::items(settings, Arc::clone(&disk)), running, output };
    match action {
        WebhookAction::List => desk.list(),
        WebhookAction::Show { id } => desk.show(&id),
        WebhookAction::Accept { id } => desk.accept(&id),
        WebhookAction::Add(wanted) => desk.add(*wanted),
        WebhookAction::Remove { id } => desk.remove(&id),
        WebhookAction::Test(wanted) => desk.test(wanted).await,
    }
}

struct WebhookCommands<'a> {
    settings: &'a Settings,
    items: ItemDirectory<WebhookSpec>,
    running: Option<RunningDaemon>,
    output: &'a Output,
}

impl WebhookCommands<'_> {
    fn list(&self) -> Result<ExitCode, CommandError> {
        let listing = self.items.list().map_err(|trouble| CommandError::Failed(trouble.to_string()))?;
        let mut lines = Vec::new();
        let mut values = Vec::new();
        for filed in &listing.items {
            let value = self.to_json(filed);
            let standing = value["standing"].as_str().unwrap_or_default();
            let way = if filed.item.deliver.is_some() { "deliver" } else { "run" };
            let proof = filed.item.intake.auth.as_str();
            lines.push(format!("  {:<24}  {way:<7}  {proof:<8}  {standing}", filed.item.id.as_str()));
            values.push(value);
        }
        let invalid: Vec<String> = listing.bad.iter().map(ToString::to_string).collect();
        lines.extend(invalid.iter().map(|bad| format!("  ! {bad}")));
        if lines.is_empty() {
            lines.push(
                "no webhooks. one is a file in `webhooks`; `ollim-bot help webhooks` tells how.".to_owned(),
            );
        }
        lines.push(self.listener_text());
        let value = json!({ "webhooks": values, "invalid": invalid, "door": self.listener_text() });
        print_result(self.output, &value, &lines.join("\n"));
        Ok(ExitCode::SUCCESS)
    }

    /// Accepts the tools that a webhook file requests.
    fn accept(&self, id: &str) -> Result<ExitCode, CommandError> {
        let filed = self.find(id)?;
        let held = consent::accept_all(&self.settings.paths, &PermissionRequests::for_webhook(&filed.item));
        let held = held.map_err(CommandError::Failed)?;
        let text = match held.as_slice() {
            [] => format!("{id} asks for nothing that is not accepted."),
            held => format!("accepted {id}: {}.", held.join(" and ")),
        };
        print_result(self.output, &json!({ "ok": true, "id": id, "accepted": held }), &text);
        Ok(ExitCode::SUCCESS)
    }

    /// Removes a webhook, even if its file is invalid. The git history keeps the file.
    fn remove(&mut self, id: &str) -> Result<ExitCode, CommandError> {
        let failed = |trouble: journal::files::FileError| CommandError::Failed(trouble.to_string());
        let path = self.items.find(id).map_err(failed)?.ok_or_else(|| unknown_webhook(id))?;
        let asked = self.find(id).ok().map(|filed| PermissionRequests::for_webhook(&filed.item).name);
        self.items.remove(&path).map_err(failed)?;
        if let Some(name) = asked.filter(|_| self.settings.paths.database().exists()) {
            journal::revoke(&self.settings.paths, &name).map_err(CommandError::Failed)?;
        }
        let git = Git::start("git");
        git.commit_removal(&path, format!("remove webhook {id}"));
        git.finish();
        let root = self.settings.paths.root();
        let text = match (root.join(".git").exists(), path.strip_prefix(root)) {
            (true, Ok(file)) => format!(
                "removed {id}. its file is in the history: git -C {} log -p -- {}",
                root.display(),
                file.display()
            ),
            (false, _) | (_, Err(_)) => format!("removed {id}."),
        };
        print_result(self.output, &json!({ "ok": true, "id": id, "file": path }), &text);
        Ok(ExitCode::SUCCESS)
    }

    fn show(&self, id: &str) -> Result<ExitCode, CommandError> {
        let filed = self.find(id)?;
        let mut value = self.to_json(&filed);
        let text =
            self.items.text(&filed.path).map_err(|trouble| CommandError::Failed(trouble.to_string()))?;
        value["text"] = text.clone().into();
        let places = template::placeholders(filed.item.active_template());
        let told = format!(
            "{id}: {}\n  address  {}\n  places   {}\n\n{text}",
            value["standing"].as_str().unwrap_or_default(),
            value["address"].as_str().unwrap_or_default(),
            if places.is_empty() { "none".to_owned() } else { places.join(", ") },
        );
        print_result(self.output, &value, &told);
        Ok(ExitCode::SUCCESS)
    }

    fn find(&self, id: &str) -> Result<ItemFile<WebhookSpec>, CommandError> {
        let listing = self.items.list().map_err(|trouble| CommandError::Failed(trouble.to_string()))?;
        let bad = listing.bad.iter().find(|bad| self.items.id_of(&bad.path).as_deref() == Some(id));
        if let Some(bad) = bad {
            return Err(CommandError::Failed(format!("{bad}")));
        }
        let found = listing.items.into_iter().find(|filed| filed.item.id.as_str() == id);
        found.ok_or_else(|| unknown_webhook(id))
    }

    /// Describes whether and where webhooks can be called.
    fn listener_text(&self) -> String {
        let here = match &self.settings.integrations.webhooks {
            WebhookSettings::Off => "webhooks are off: WEBHOOK_PORT is not set.".to_owned(),
            WebhookSettings::On(port, ..) => format!("called with POST http://127.0.0.1:{port}/hook/ID"),
            WebhookSettings::Invalid(why) => why.clone(),
        };
        match (&self.running, self.address()) {
            (Some(RunningDaemon { webhooks: Some(address), .. }), _) => {
                format!("called with POST {address}ID")
            }
            (Some(_), Some(_)) => {
                format!(
                    "{here}\nthe assistant that runs has no webhooks; it reads this when it starts again: {RESTART_COMMAND}"
                )
            }
            (Some(_), None) | (None, _) => here,
        }
    }

    /// Returns the address of the running daemon's listener, or else the configured one.
    fn address(&self) -> Option<String> {
        let running = self.running.as_ref().and_then(|running| running.webhooks.clone());
        running.or_else(|| match &self.settings.integrations.webhooks {
            WebhookSettings::On(port, ..) => Some(format!("http://127.0.0.1:{port}/hook/")),
            WebhookSettings::Off | WebhookSettings::Invalid(_) => None,
        })
    }

    fn to_json(&self, filed: &ItemFile<WebhookSpec>) -> Value {
        let hook = &filed.item;
        let address = format!("{}{}", self.address().unwrap_or_else(|| "/hook/".to_owned()), hook.id);
        let schema = Schema::parse(&hook.fields);
        let standing = match webhooks::problem(self.settings, hook) {
            None => consent::held_back_notice(
                &PermissionRequests::for_webhook(hook),
                &AcceptedPermissions::load(&self.settings.paths),
            )
            .map_or_else(|| "fine".to_owned(), |held| format!("it {held}")),
            Some(why) => format!("can't be called: {why}"),
        };
        let (names, required) = schema
            .as_ref()
            .map_or_else(|_| (Vec::new(), Vec::new()), |schema| (schema.field_names(), schema.required()));
        json!({
            "id": hook.id.as_str(),
            "file": filed.path,
            "address": address,
            "auth": hook.intake.auth.as_str(),
            "deliver": hook.deliver.as_ref().map(|words| words.as_str()),
            "fields": names,
            "required": required,
            "max_bytes": hook.intake.size_limit(),
            "standing": standing,
        })
    }
}

fn unknown_webhook(id: &str) -> CommandError {
    CommandError::Failed(format!("there is no webhook called `{id}`. `ollim-bot webhook list` names them."))
}
