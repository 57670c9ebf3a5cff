//! Consent for what job and webhook files ask for.
//!
//! A file written through our own commands or page is accepted with that edit. A request in a file
//! written by anything else is held back until the user accepts it.

use std::sync::Arc;

use domain::schedule::{JobFileChange, JobSpec, Reminder, Routine};
use engine::ports::Clock;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::disk::Disk;
use journal::files::items::{Item, ItemDirectory};
use journal::jobs::JobFileScanner;
use journal::{AcceptedPermissions, Journal, Paths, PermissionRequests, accept_change, accept_requested};

use crate::clock::SystemClock;
use crate::exit::CommandError;
use crate::settings::Settings;
use crate::webhooks;

/// Accepts the requests of `file` (relative to the data directory) after the user changed it from
/// `before` to `after`. Without `before` the user has seen the whole text, so all of it is
/// accepted; with it only the change is.
pub fn accept_edit(paths: &Paths, file: &str, (before, after): (Option<&str>, &str)) -> Result<(), String> {
    match (before, PermissionRequests::parse_file(file, after)) {
        (_, None) => Ok(()),
        (Some(before), Some(_)) => accept_change(paths, file, before, after, now()),
        (None, Some(asked)) => accept_requested(paths, &asked, now()),
    }
}

/// Accepts everything in `asked`. Returns what was held back of it until now.
pub fn accept_all(paths: &Paths, asked: &PermissionRequests) -> Result<Vec<String>, String> {
    let held = AcceptedPermissions::load(paths).withheld(asked);
    accept_requested(paths, asked, now()).map(|()| held)
}

fn now() -> Timestamp {
    SystemClock::new(TimeZone::UTC).now().timestamp()
}

/// Returns the notice for requests of `asked` beyond what is `accepted`, if there are any.
pub fn held_back_notice(asked: &PermissionRequests, accepted: &AcceptedPermissions) -> Option<String> {
    let held = accepted.withheld(asked);
    (!held.is_empty()).then(|| asked.withheld_notice(&held))
}

/// Returns one sentence for each job whose requests are held back.
pub fn held_back_notices(settings: &Settings, disk: &Arc<dyn Disk>) -> Vec<String> {
    let accepted = AcceptedPermissions::load(&settings.paths);
    let job = |what: JobSpec| held_back_notice(&PermissionRequests::for_job(&what), &accepted);
    let mut held = notices_of(&jobs::<Routine>(settings, disk), |it| job(JobSpec::Routine(it.clone())));
    held.extend(notices_of(&jobs::<Reminder>(settings, disk), |it| job(JobSpec::Reminder(it.clone()))));
    held
}

/// Scans all jobs for the first time after a start. If no consent was ever recorded, the files are
/// older than this feature, so the requests of all jobs and webhooks are accepted.
pub async fn initial_scan(
    book: &mut JobFileScanner,
    settings: &Settings,
    journal: &Journal,
    disk: &Arc<dyn Disk>,
    now: Timestamp,
) -> Result<Vec<JobFileChange>, CommandError> {
    let first = matches!(AcceptedPermissions::load(&settings.paths), AcceptedPermissions::Everything);
    let news = book.scan(now);
    if first {
        let hooks = webhooks::items(settings, Arc::clone(disk)).list().map(|listing| listing.items);
        let mut asked: Vec<PermissionRequests> =
            book.planned().map(|planned| PermissionRequests::for_job(&planned.spec)).collect();
        asked.extend(
            hooks.unwrap_or_default().iter().map(|filed| PermissionRequests::for_webhook(&filed.item)),
        );
        let accepted = journal.accept_initial_jobs(asked, now).await;
        accepted.map_err(|unwritten| CommandError::Failed(unwritten.to_string()))?;
    }
    Ok(news)
}

fn jobs<T: Item>(settings: &Settings, disk: &Arc<dyn Disk>) -> ItemDirectory<T> {
    ItemDirectory::new(Arc::clone(disk), settings.paths.root(), settings.zone.value.clone())
}

fn notices_of<T: Item>(items: &ItemDirectory<T>, notice: impl Fn(&T) -> Option<String>) -> Vec<String> {
    let listing = items.list().map(|listing| listing.items).unwrap_or_default();
    let file = |path: &std::path::Path| {
        format!("{}/{}", T::DIRECTORY, path.file_name().unwrap_or_default().to_string_lossy())
    };
    let each =
        listing.iter().filter_map(|filed| Some(format!("{} {}", file(&filed.path), notice(&filed.item)?)));
    each.collect()
}
