//! Consent for what job and webhook files ask for.
//!
//! A file written through our own commands or page is accepted with that edit. A request in a file
//! written by anything else is held back until the user accepts it.

use std::sync::Arc;

use domain::schedule::{FileNews, Reminder, Routine, What};
use engine::ports::Clock;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::disk::Disk;
use journal::files::items::{Item, Items};
use journal::jobs::JobBook;
use journal::{Accepted, AskedFor, Journal, Paths, accept_change, accept_whole};

use crate::clock::SystemClock;
use crate::exit::Failed;
use crate::hooks;
use crate::settings::Settings;

/// Accepts the requests of `file` (relative to the data directory) after the user changed it from
/// `before` to `after`. Without `before` the user has seen the whole text, so all of it is
/// accepted; with it only the change is.
pub fn allow(paths: &Paths, file: &str, (before, after): (Option<&str>, &str)) -> Result<(), String> {
    match (before, AskedFor::of(file, after)) {
        (_, None) => Ok(()),
        (Some(before), Some(_)) => accept_change(paths, file, before, after, now()),
        (None, Some(asked)) => accept_whole(paths, &asked, now()),
    }
}

/// Accepts everything in `asked`. Returns what was held back of it until now.
pub fn accept(paths: &Paths, asked: &AskedFor) -> Result<Vec<String>, String> {
    let held = Accepted::look(paths).held(asked);
    accept_whole(paths, asked, now()).map(|()| held)
}

fn now() -> Timestamp {
    SystemClock::new(TimeZone::UTC).now().timestamp()
}

/// Returns the notice for requests of `asked` beyond what is `accepted`, if there are any.
pub fn told(asked: &AskedFor, accepted: &Accepted) -> Option<String> {
    let held = accepted.held(asked);
    (!held.is_empty()).then(|| asked.held_back(&held))
}

/// Returns one sentence for each job whose requests are held back.
pub fn held(settings: &Settings, disk: &Arc<dyn Disk>) -> Vec<String> {
    let accepted = Accepted::look(&settings.paths);
    let job = |what: What| told(&AskedFor::job(&what), &accepted);
    let mut held = among(&jobs::<Routine>(settings, disk), |it| job(What::Routine(it.clone())));
    held.extend(among(&jobs::<Reminder>(settings, disk), |it| job(What::Reminder(it.clone()))));
    held
}

/// Scans all jobs for the first time after a start. If no consent was ever recorded, the files are
/// older than this feature, so the requests of all jobs and webhooks are accepted.
pub async fn first_look(
    book: &mut JobBook,
    settings: &Settings,
    journal: &Journal,
    disk: &Arc<dyn Disk>,
    now: Timestamp,
) -> Result<Vec<FileNews>, Failed> {
    let first = matches!(Accepted::look(&settings.paths), Accepted::Everything);
    let news = book.look(now);
    if first {
        let hooks = hooks::items(settings, Arc::clone(disk)).list().map(|listing| listing.items);
        let mut asked: Vec<AskedFor> = book.planned().map(|planned| AskedFor::job(&planned.what)).collect();
        asked.extend(hooks.unwrap_or_default().iter().map(|filed| AskedFor::webhook(&filed.item)));
        let accepted = journal.accept_the_first(asked, now).await;
        accepted.map_err(|unwritten| Failed::NotDone(unwritten.to_string()))?;
    }
    Ok(news)
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
