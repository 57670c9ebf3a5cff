//! Inventory of a data directory. One that was written by the Python program is used as it is.

use std::path::Path;
use std::sync::Arc;

use domain::schedule::{Reminder, Routine, WebhookSpec};
use jiff::tz::TimeZone;
use journal::Paths;
use journal::disk::{Disk, FileKind};
use journal::files::items::{Item, ItemDirectory};

use crate::checks::{Finding, State};

/// The number of files of one kind, and how many of them are usable.
#[derive(Clone, Copy)]
struct FileCount {
    all: usize,
    usable: usize,
}

/// Reports how many routines, reminders, webhooks and skills there are.
pub fn check_inventory(paths: &Paths, disk: &Arc<dyn Disk>) -> Finding {
    let root = paths.root();
    let skills = disk.list(&root.join("skills")).unwrap_or_default();
    let skills = skills.iter().filter(|it| is_file(&**disk, &it.path.join("SKILL.md"))).count();
    let counts = [
        ("routine", count_files::<Routine>(root, disk)),
        ("reminder", count_files::<Reminder>(root, disk)),
        ("webhook", count_files::<WebhookSpec>(root, disk)),
        ("skill", FileCount { all: skills, usable: skills }),
    ];
    let lost = counts.iter().any(|(_, count)| count.usable < count.all);
    let told_of: Vec<String> =
        counts.into_iter().filter(|(_, count)| count.all > 0).map(count_text).collect();
    let text = if told_of.is_empty() { "nothing planned yet".to_owned() } else { told_of.join(", ") };
    let used = if lost { "what can be used is used as it is" } else { "all of it is used as it is" };
    let inherited =
        is_file(&**disk, &paths.state().join("sessions.json")) && !is_file(&**disk, &paths.database());
    let text = if inherited {
        format!(
            "{text}; and the session of another ollim-bot. {used}, and the conversation goes on under its name: the first \
             start imports it from the transcripts of Claude Code"
        )
    } else {
        text
    };
    // The unusable files are reported by their own checks.
    Finding::new("found", if lost { State::Warning } else { State::Fine }, text)
}

/// Counts the files of one kind. The time zone does not affect whether a file is readable.
fn count_files<T: Item>(root: &Path, disk: &Arc<dyn Disk>) -> FileCount {
    match ItemDirectory::<T>::new(Arc::clone(disk), root, TimeZone::UTC).list() {
        Ok(listing) => {
            FileCount { all: listing.items.len() + listing.bad.len(), usable: listing.items.len() }
        }
        Err(_) => FileCount { all: 0, usable: 0 },
    }
}

fn count_text((what, FileCount { all, usable }): (&str, FileCount)) -> String {
    let things = if all == 1 { format!("1 {what}") } else { format!("{all} {what}s") };
    match all - usable {
        0 => things,
        _ if usable == 0 => format!("{things} (which cannot be used)"),
        _ => format!("{things} ({usable} of them can be used)"),
    }
}

fn is_file(disk: &dyn Disk, path: &Path) -> bool {
    matches!(disk.file_kind(path), Ok(Some(FileKind::File(_))))
}
