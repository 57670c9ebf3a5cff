//! Completion candidates for jobs, models and settings, read when the user presses Tab.

use std::sync::Arc;

use clap::{Arg, Command, CommandFactory};
use clap_complete::{ArgValueCandidates, CompletionCandidate};
use domain::schedule::{Reminder, Routine, WebhookSpec};
use domain::settings::Setting;
use jiff::tz::TimeZone;
use journal::disk::RealDisk;
use journal::files::items::{Item, ItemDirectory};

use super::{Cli, Place};
use crate::commands::jobs::{Job, rows};

/// Returns the command line with candidates for the ids of routines, reminders and webhooks.
pub fn command_with_candidates() -> Command {
    let offering = |names: fn() -> Vec<CompletionCandidate>| {
        let arg =
            move |arg: Arg| if arg.get_id() == "id" { arg.add(ArgValueCandidates::new(names)) } else { arg };
        move |group: Command| group.mut_subcommands(|action| action.mut_args(arg))
    };
    let cli = Cli::command().mut_subcommand("routine", offering(routines));
    let cli = cli.mut_subcommand("reminder", offering(reminders));
    cli.mut_subcommand("webhook", offering(webhooks))
}

/// Returns the names of all routines and reminders.
pub fn jobs() -> Vec<CompletionCandidate> {
    reminders().into_iter().chain(routines()).collect()
}

fn reminders() -> Vec<CompletionCandidate> {
    job_candidates::<Reminder>()
}

fn routines() -> Vec<CompletionCandidate> {
    job_candidates::<Routine>()
}

fn webhooks() -> Vec<CompletionCandidate> {
    let listing = items::<WebhookSpec>().and_then(|items| items.list().ok());
    let hooks = listing.map(|listing| listing.items).unwrap_or_default();
    hooks.iter().map(|hook| CompletionCandidate::new(hook.item.id.as_str())).collect()
}

fn items<K: Item>() -> Option<ItemDirectory<K>> {
    let root = (Place { data_dir: None }).environment().data_dir().ok()?;
    Some(ItemDirectory::new(Arc::new(RealDisk), &root, TimeZone::UTC))
}

fn job_candidates<K: Job>() -> Vec<CompletionCandidate> {
    let rows = items::<K>().and_then(|items| rows(&items).ok()).unwrap_or_default();
    let named = rows.iter().map(|row| CompletionCandidate::new(row.name()).help(Some(row.summary().into())));
    named.collect()
}

pub fn settings() -> Vec<CompletionCandidate> {
    Setting::ALL.iter().map(|setting| CompletionCandidate::new(setting.display_name())).collect()
}

/// Returns the short names of the common models.
pub fn models() -> Vec<CompletionCandidate> {
    ["default", "fable", "haiku", "opus", "sonnet"].into_iter().map(CompletionCandidate::new).collect()
}
