//! Real names for completions: jobs, models and settings, as they are when somebody presses Tab.

use std::sync::Arc;

use clap_complete::CompletionCandidate;
use domain::schedule::{Reminder, Routine};
use domain::settings::Setting;
use jiff::tz::TimeZone;
use journal::disk::RealDisk;
use journal::files::items::Items;

use super::Place;
use crate::commands::jobs::{Job, rows};

/// Every routine and reminder.
pub fn jobs() -> Vec<CompletionCandidate> {
    reminders().into_iter().chain(routines()).collect()
}

fn reminders() -> Vec<CompletionCandidate> {
    of::<Reminder>()
}

fn routines() -> Vec<CompletionCandidate> {
    of::<Routine>()
}

fn of<K: Job>() -> Vec<CompletionCandidate> {
    let Ok(root) = (Place { data_dir: None }).environment().data_dir() else { return Vec::new() };
    let rows = rows(&Items::<K>::new(Arc::new(RealDisk), &root, TimeZone::UTC)).unwrap_or_default();
    let named = rows.iter().map(|row| CompletionCandidate::new(row.name()).help(Some(row.summary().into())));
    named.collect()
}

/// Every setting.
pub fn settings() -> Vec<CompletionCandidate> {
    Setting::ALL.iter().map(|setting| CompletionCandidate::new(setting.shown())).collect()
}

/// The usual models.
pub fn models() -> Vec<CompletionCandidate> {
    ["default", "haiku", "opus", "sonnet"].into_iter().map(CompletionCandidate::new).collect()
}
