//! Webhook files, their secrets, and the listener for webhook calls.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use domain::schedule::{WebhookSpec, template};
use engine::desk::Desk;
use engine::ports::Clock;
use jiff::tz::TimeZone;
use journal::disk::Disk;
use journal::files::items::Items;
use journal::{Accepted, AskedFor, Paths};
use serde_json::Value;
use surfaces::hook::schema::Schema;
use surfaces::hook::{self, Hooks};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::accepting;
use crate::house::Doors;
use crate::settings::{Secrets, Settings, Webhooks};

/// The most problems that are remembered as reported.
const TOLD: usize = 1_000;

/// Looks up webhooks and their secrets for the listener.
pub struct HookFiles {
    items: Items<WebhookSpec>,
    paths: Paths,
    secrets: Secrets,
    told: watch::Sender<BTreeSet<String>>,
}

impl HookFiles {
    fn new(settings: &Settings, disk: Arc<dyn Disk>, secrets: Secrets) -> Self {
        Self {
            items: items(settings, disk),
            paths: settings.paths.clone(),
            secrets,
            told: watch::Sender::default(),
        }
    }

    /// Logs a problem of a file, once per problem.
    fn tell_once(&self, complaint: String) {
        self.told.send_if_modified(|told| {
            let new = told.len() < TOLD && told.insert(complaint.clone());
            if new {
                tracing::warn!("{complaint}");
            }
            new
        });
    }
}

impl Hooks for HookFiles {
    fn find(&self, id: &str) -> Option<WebhookSpec> {
        let listing = match self.items.list() {
            Ok(listing) => listing,
            Err(trouble) => {
                self.tell_once(trouble.to_string());
                return None;
            }
        };
        listing.bad.iter().for_each(|bad| self.tell_once(bad.to_string()));
        let hook = listing.items.into_iter().find(|filed| filed.item.id.as_str() == id)?.item;
        let asked = AskedFor::webhook(&hook);
        let held = Accepted::look(&self.paths).held(&asked);
        if !held.is_empty() {
            self.tell_once(format!("the webhook {id} {}", asked.held_back(&held)));
        }
        Some(WebhookSpec { terms: hook.terms.without(&held), ..hook })
    }

    fn secret(&self, id: &str) -> Option<String> {
        self.secrets.of(id)
    }
}

/// Returns the webhook files of the data directory.
pub fn items(settings: &Settings, disk: Arc<dyn Disk>) -> Items<WebhookSpec> {
    Items::new(disk, settings.paths.root(), TimeZone::UTC)
}

/// Returns the problems of all webhook files. A file without problems can be called.
pub fn complaints(settings: &Settings, disk: Arc<dyn Disk>) -> Vec<String> {
    let listing = match items(settings, disk).list() {
        Ok(listing) => listing,
        Err(trouble) => return vec![trouble.to_string()],
    };
    let name = |path: &std::path::Path| {
        format!("webhooks/{}", path.file_name().unwrap_or_default().to_string_lossy())
    };
    let bad = listing.bad.iter().map(|bad| format!("{} can't be used: {}", name(&bad.path), bad.bad));
    let wrong = listing.items.iter().filter_map(|filed| {
        let why = trouble(settings, &filed.item)?;
        Some(format!("{} can't be called: {why}", name(&filed.path)))
    });
    let accepted = Accepted::look(&settings.paths);
    let held = listing.items.iter().filter_map(|filed| {
        let told = accepting::told(&AskedFor::webhook(&filed.item), &accepted)?;
        Some(format!("{} {told}", name(&filed.path)))
    });
    bad.chain(wrong).chain(held).collect()
}

/// Returns why every call of `hook` would be rejected, if so.
pub fn trouble(settings: &Settings, hook: &WebhookSpec) -> Option<String> {
    let schema = match Schema::read(&hook.fields) {
        Ok(schema) => schema,
        Err(why) => return Some(why),
    };
    if let Some(why) = unfilled(hook, &schema.names()) {
        return Some(why);
    }
    let secret = settings.places.webhooks.secret(hook.id.as_str())?;
    (!hook::can_prove(hook.entrance.proof, &secret)).then(|| {
        format!(
            "its secret is no key of Standard Webhooks. write one like whsec_ and base64 into state/webhook-secrets/{} \
             (chmod 600)",
            hook.id
        )
    })
}

/// Returns a placeholder in the template of `hook` that no field can fill.
pub fn unfilled(hook: &WebhookSpec, fields: &[&str]) -> Option<String> {
    // Combined schemas may define more fields.
    let schema: Value = serde_json::from_str(&hook.fields).unwrap_or_default();
    if ["allOf", "anyOf", "oneOf", "$ref"].iter().any(|word| schema.get(word).is_some()) {
        return None;
    }
    let pick = &hook.entrance.pick;
    let comes = |field: &&&str| pick.is_empty() || pick.iter().any(|(name, _)| name == *field);
    let fields: Vec<&str> = fields.iter().filter(comes).copied().collect();
    let place = template::places(hook.words()).into_iter().find(|place| !fields.contains(place))?;
    Some(if fields.is_empty() {
        format!("there is a place {{{place}}}, and no call brings anything")
    } else {
        format!("no call brings {{{place}}}. what comes is {}", fields.join(", "))
    })
}

/// WH-1: Serves webhook calls until `stop`, if a port and a secret are set. Problems are added to
/// `notices`.
pub async fn serve(
    (settings, doors): (&Settings, Doors),
    (desk, disk, clock): (Desk, Arc<dyn Disk>, Arc<dyn Clock>),
    notices: &mut Vec<String>,
    (tasks, stop): (&mut JoinSet<()>, &CancellationToken),
) -> Option<SocketAddr> {
    let mut off = |why: String| {
        tracing::error!("{why}");
        notices.push(why);
    };
    let (port, secrets, address_header) = match &settings.places.webhooks {
        _ if doors != Doors::LocalAndPage => return None,
        Webhooks::Off => return None,
        Webhooks::Wrong(why) => {
            off(why.clone());
            return None;
        }
        Webhooks::On(port, secrets, header) => (*port, secrets.clone(), header.clone()),
    };
    let door = match hook::bind(port).await {
        Ok(door) => door,
        Err(error) => {
            off(format!(
                "webhooks are off: 127.0.0.1:{port} cannot be used ({error}). set WEBHOOK_PORT to a free one."
            ));
            return None;
        }
    };
    notices.extend(complaints(settings, Arc::clone(&disk)));
    let address = door.address();
    let hooks = Arc::new(HookFiles::new(settings, disk, secrets));
    let ports = hook::Ports { desk, hooks, clock, address_header };
    tasks.spawn(hook::serve(door, ports, hook::Limits::HOUSE, stop.clone()));
    Some(address)
}
