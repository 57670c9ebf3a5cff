//! Webhook files, their secrets, and the listener for webhook calls.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use domain::schedule::{WebhookSpec, template};
use engine::handle::AssistantHandle;
use engine::ports::Clock;
use jiff::tz::TimeZone;
use journal::disk::Disk;
use journal::files::items::ItemDirectory;
use journal::{AcceptedPermissions, Paths, PermissionRequests};
use serde_json::Value;
use surfaces::webhook::schema::Schema;
use surfaces::webhook::{self, Webhooks};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::app::Mode;
use crate::consent;
use crate::settings::{Settings, WebhookSecrets, WebhookSettings};

/// The most problems that are remembered as reported.
const MAX_REMEMBERED: usize = 1_000;

/// Looks up webhooks and their secrets for the listener.
pub struct WebhookFiles {
    items: ItemDirectory<WebhookSpec>,
    paths: Paths,
    secrets: WebhookSecrets,
    reported: watch::Sender<BTreeSet<String>>,
}

impl WebhookFiles {
    fn new(settings: &Settings, disk: Arc<dyn Disk>, secrets: WebhookSecrets) -> Self {
        Self {
            items: items(settings, disk),
            paths: settings.paths.clone(),
            secrets,
            reported: watch::Sender::default(),
        }
    }

    /// Logs a problem of a file, once per problem.
    fn warn_once(&self, complaint: String) {
        self.reported.send_if_modified(|told| {
            let new = told.len() < MAX_REMEMBERED && told.insert(complaint.clone());
            if new {
                tracing::warn!("{complaint}");
            }
            new
        });
    }
}

impl Webhooks for WebhookFiles {
    fn find(&self, id: &str) -> Option<WebhookSpec> {
        let listing = match self.items.list() {
            Ok(listing) => listing,
            Err(trouble) => {
                self.warn_once(trouble.to_string());
                return None;
            }
        };
        listing.bad.iter().for_each(|bad| self.warn_once(bad.to_string()));
        let hook = listing.items.into_iter().find(|filed| filed.item.id.as_str() == id)?.item;
        let asked = PermissionRequests::for_webhook(&hook);
        let held = AcceptedPermissions::load(&self.paths).withheld(&asked);
        if !held.is_empty() {
            self.warn_once(format!("the webhook {id} {}", asked.withheld_notice(&held)));
        }
        Some(WebhookSpec { options: hook.options.without(&held), ..hook })
    }

    fn secret(&self, id: &str) -> Option<String> {
        self.secrets.secret_for(id)
    }
}

/// Returns the webhook files of the data directory.
pub fn items(settings: &Settings, disk: Arc<dyn Disk>) -> ItemDirectory<WebhookSpec> {
    ItemDirectory::new(disk, settings.paths.root(), TimeZone::UTC)
}

/// Returns the problems of all webhook files. A file without problems can be called.
pub fn problems(settings: &Settings, disk: Arc<dyn Disk>) -> Vec<String> {
    let listing = match items(settings, disk).list() {
        Ok(listing) => listing,
        Err(trouble) => return vec![trouble.to_string()],
    };
    let name = |path: &std::path::Path| {
        format!("webhooks/{}", path.file_name().unwrap_or_default().to_string_lossy())
    };
    let bad = listing.bad.iter().map(|bad| format!("{} can't be used: {}", name(&bad.path), bad.bad));
    let wrong = listing.items.iter().filter_map(|filed| {
        let why = problem(settings, &filed.item)?;
        Some(format!("{} can't be called: {why}", name(&filed.path)))
    });
    let accepted = AcceptedPermissions::load(&settings.paths);
    let held = listing.items.iter().filter_map(|filed| {
        let told = consent::held_back_notice(&PermissionRequests::for_webhook(&filed.item), &accepted)?;
        Some(format!("{} {told}", name(&filed.path)))
    });
    bad.chain(wrong).chain(held).collect()
}

/// Returns why every call of `hook` would be rejected, if so.
pub fn problem(settings: &Settings, hook: &WebhookSpec) -> Option<String> {
    let schema = match Schema::parse(&hook.fields) {
        Ok(schema) => schema,
        Err(why) => return Some(why),
    };
    if let Some(why) = unknown_placeholder(hook, &schema.field_names()) {
        return Some(why);
    }
    let secret = settings.integrations.webhooks.secret(hook.id.as_str())?;
    (!webhook::can_prove(hook.intake.auth, &secret)).then(|| {
        format!(
            "its secret is no key of Standard Webhooks. write one like whsec_ and base64 into state/webhook-secrets/{} \
             (chmod 600)",
            hook.id
        )
    })
}

/// Returns a placeholder in the template of `hook` that no field can fill.
pub fn unknown_placeholder(hook: &WebhookSpec, fields: &[&str]) -> Option<String> {
    // Combined schemas may define more fields.
    let schema: Value = serde_json::from_str(&hook.fields).unwrap_or_default();
    if ["allOf", "anyOf", "oneOf", "$ref"].iter().any(|word| schema.get(word).is_some()) {
        return None;
    }
    let pick = &hook.intake.pick;
    let comes = |field: &&&str| pick.is_empty() || pick.iter().any(|(name, _)| name == *field);
    let fields: Vec<&str> = fields.iter().filter(comes).copied().collect();
    let place =
        template::placeholders(hook.active_template()).into_iter().find(|place| !fields.contains(place))?;
    Some(if fields.is_empty() {
        format!("there is a place {{{place}}}, and no call brings anything")
    } else {
        format!("no call brings {{{place}}}. what comes is {}", fields.join(", "))
    })
}

/// WH-1: Serves webhook calls until `stop`, if a port and a secret are set. Problems are added to
/// `notices`.
pub async fn serve(
    (settings, doors): (&Settings, Mode),
    (desk, disk, clock): (AssistantHandle, Arc<dyn Disk>, Arc<dyn Clock>),
    notices: &mut Vec<String>,
    (tasks, stop): (&mut JoinSet<()>, &CancellationToken),
) -> Option<SocketAddr> {
    let mut off = |why: String| {
        tracing::error!("{why}");
        notices.push(why);
    };
    let (port, secrets, address_header) = match &settings.integrations.webhooks {
        _ if doors != Mode::Full => return None,
        WebhookSettings::Off => return None,
        WebhookSettings::Invalid(why) => {
            off(why.clone());
            return None;
        }
        WebhookSettings::On(port, secrets, header) => (*port, secrets.clone(), header.clone()),
    };
    let door = match webhook::bind(port).await {
        Ok(door) => door,
        Err(error) => {
            off(format!(
                "webhooks are off: 127.0.0.1:{port} cannot be used ({error}). set WEBHOOK_PORT to a free one."
            ));
            return None;
        }
    };
    notices.extend(problems(settings, Arc::clone(&disk)));
    let address = door.address();
    let hooks = Arc::new(WebhookFiles::new(settings, disk, secrets));
    let ports = webhook::WebhookPorts { assistant: desk, webhooks: hooks, clock, address_header };
    tasks.spawn(webhook::serve(door, ports, webhook::WebhookLimits::DEFAULT, stop.clone()));
    Some(address)
}
