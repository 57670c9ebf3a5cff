//! What the files of jobs and webhooks ask for: accepted with what the human writes by our own doors, and held back where
//! anybody else wrote it.

use std::sync::Arc;

use domain::schedule::{Reminder, Routine, WebhookSpec, What};
use engine::ports::Clock;
use journal::disk::Disk;
use journal::files::items::{Item, Items};
use journal::{Accepted, Asking, Paths, accept_all, held_back};

use crate::clock::SystemClock;
use crate::hooks;
use crate::settings::Settings;

/// The human lets `after` be written over `before` in `file`, called as it is from the data directory on: what it asks for
/// and that did not is accepted.
pub fn allow(paths: &Paths, file: &str, (before, after): (&str, &str)) -> Result<(), String> {
    match Asking::of(file, after) {
        Some(asking) => accept(paths, &asking.since(Asking::of(file, before).as_ref())),
        None => Ok(()),
    }
}

/// The human accepts all that is held back of what is asked for, which this gives.
pub fn accept_held(paths: &Paths, asking: &Asking) -> Result<Vec<String>, String> {
    let lines = Accepted::look(paths).held(asking);
    accept(paths, &Asking { name: asking.name.clone(), lines: lines.clone() })?;
    Ok(lines)
}

fn accept(paths: &Paths, asking: &Asking) -> Result<(), String> {
    let now = SystemClock::new(jiff::tz::TimeZone::UTC).now().timestamp();
    accept_all(paths, asking, now)
}

/// What is told of a job that asks for more than is `accepted`: nothing, if it does not.
pub fn of_job(what: &What, accepted: &Accepted) -> Option<String> {
    let command = match what {
        What::Routine(routine) => format!("ollim-bot routine accept {}", routine.id),
        What::Reminder(reminder) => format!("ollim-bot reminder accept {}", reminder.id),
    };
    told(&Asking::job(what), &command, accepted)
}

/// The same of a webhook.
pub fn of_webhook(hook: &WebhookSpec, accepted: &Accepted) -> Option<String> {
    told(&Asking::webhook(hook), &format!("ollim-bot webhook accept {}", hook.id), accepted)
}

fn told(asking: &Asking, command: &str, accepted: &Accepted) -> Option<String> {
    let held = accepted.held(asking);
    (!held.is_empty()).then(|| held_back(&held, command))
}

/// All that is held back in the data directory of `settings`, a sentence each.
pub fn held(settings: &Settings, disk: &Arc<dyn Disk>) -> Vec<String> {
    let accepted = Accepted::look(&settings.paths);
    let hooks = hooks::items(settings, Arc::clone(disk));
    let mut held =
        among(&jobs::<Routine>(settings, disk), |it| of_job(&What::Routine(it.clone()), &accepted));
    held.extend(among(&jobs::<Reminder>(settings, disk), |it| {
        of_job(&What::Reminder(it.clone()), &accepted)
    }));
    held.extend(among(&hooks, |it| of_webhook(it, &accepted)));
    held
}

/// All that webhooks ask for.
pub fn of_webhooks(settings: &Settings, disk: &Arc<dyn Disk>) -> Vec<Asking> {
    let listing = hooks::items(settings, Arc::clone(disk)).list();
    let items = listing.map(|listing| listing.items).unwrap_or_default();
    items.iter().map(|filed| Asking::webhook(&filed.item)).collect()
}

fn jobs<T: Item>(settings: &Settings, disk: &Arc<dyn Disk>) -> Items<T> {
    Items::new(Arc::clone(disk), settings.paths.root(), settings.zone.value.clone())
}

fn among<T: Item>(items: &Items<T>, told: impl Fn(&T) -> Option<String>) -> Vec<String> {
    let listing = items.list().map(|listing| listing.items).unwrap_or_default();
    let file = |path: &std::path::Path| {
        format!("{}/{}", T::DIRECTORY, path.file_name().unwrap_or_default().to_string_lossy())
    };
    let each =
        listing.iter().filter_map(|filed| Some(format!("{} {}", file(&filed.path), told(&filed.item)?)));
    each.collect()
}
