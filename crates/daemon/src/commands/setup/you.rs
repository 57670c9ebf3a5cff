//! Setup of names and the time zone.

use std::sync::Arc;

use domain::schedule::{JobSpec, PlannedJob, Reminder};
use engine::ports::Clock as _;
use jiff::tz::TimeZone;
use journal::disk::RealDisk;
use journal::files::items::ItemDirectory;

use super::model::with_notes;
use super::prompt::{Attempts, SecretSource, SectionError, is_cancel};
use super::store::Draft;
use super::{SectionResult, SetupContext};
use crate::checks::{Finding, State};
use crate::cli::YouSetup;
use crate::clock::SystemClock;
use crate::commands::jobs::{format_time, rows};
use crate::exit::CommandError;
use crate::settings::Settings;

const MAX_NAME_LENGTH: usize = 64;

/// The most reminders that are listed by name.
const MAX_NAMED: usize = 3;

/// Checks whether the user's name and zone are set.
pub fn check(settings: &Settings) -> Finding {
    let zone = settings.zone.value.iana_name().unwrap_or("UTC");
    let names = &settings.names.value;
    let text = format!("{} · {zone} · i am {}", names.user, names.assistant);
    let state = if settings.names.source == "OLLIM_USER_NAME" && settings.zone.source != "a guess" {
        State::Fine
    } else {
        State::Absent
    };
    Finding::new("you", state, text)
}

/// Stores names and zone from flags or answers.
pub async fn set_up(here: &mut SetupContext, given: YouSetup) -> Result<SectionResult, SectionError> {
    let settings = &here.settings;
    let nothing_new = given.name.is_none() && given.bot_name.is_none() && given.timezone.is_none();
    let known = check(settings);
    if nothing_new && (known.state == State::Fine && !here.prompter.can_ask()) {
        return Ok(SectionResult::unchanged("you", format!("{}. nothing to do", known.text)));
    }
    if nothing_new && !here.prompter.can_ask() {
        let missing = "say it: --name NAME, --bot-name NAME or --timezone ZONE";
        return Err(CommandError::Usage(missing.to_owned()).into());
    }
    let zone = settings.zone.value.iana_name().unwrap_or("UTC");
    let names = &settings.names.value;
    let asks = nothing_new;
    let name = ask(here, asks, given.name, "what are you called?", &names.user, parse_name)?;
    let bot_name = ask(here, asks, given.bot_name, "what am i called?", &names.assistant, parse_name)?;
    let timezone = ask(here, asks, given.timezone, "your time zone?", zone, parse_zone)?;
    let answers =
        [("OLLIM_USER_NAME", name), ("OLLIM_BOT_NAME", bot_name), ("OLLIM_TIMEZONE", timezone)].into_iter();
    let draft = answers.filter_map(|(variable, value)| Some((variable, value?)));
    let draft = draft.fold(Draft::default(), |draft, (variable, value)| draft.with(variable, Some(&value)));
    let trial = here.store.trial(&draft)?;
    let stay = kept_moments_note(settings, &trial.settings.zone.value);
    let asides = here.store.save(&draft)?.into_iter().chain(name_override_note(here)).chain(stay).collect();
    Ok(SectionResult::changed("you", with_notes(here, check(&trial.settings).text, asides).await))
}

/// Notes that pending reminders keep their moment and so ring at another local time in `zone`.
fn kept_moments_note(settings: &Settings, zone: &TimeZone) -> Option<String> {
    let before = &settings.zone.value;
    let now = SystemClock::new(zone.clone()).now().timestamp();
    let items = ItemDirectory::<Reminder>::new(Arc::new(RealDisk), settings.paths.root(), before.clone());
    let stays = |planned: PlannedJob| match &planned.spec {
        JobSpec::Reminder(Reminder { cue: None, run_at, .. }) if run_at.at > now => {
            let is_moved =
                run_at.at.to_zoned(before.clone()).datetime() != run_at.at.to_zoned(zone.clone()).datetime();
            is_moved.then(|| (planned.display_name(), planned.id().clone(), run_at.at))
        }
        JobSpec::Reminder(_) | JobSpec::Routine(_) => None,
    };
    let rows = rows(&items).unwrap_or_default().into_iter();
    let mut stay: Vec<_> = rows.filter_map(|row| row.job.ok().and_then(stays)).collect();
    stay.sort_by_key(|(_, _, at)| *at);
    let (_, id, first) = stay.first()?;
    let told = stay
        .iter()
        .take(MAX_NAMED)
        .map(|(name, _, at)| format!("{name} is now at {}", format_time(*at, now, zone)));
    let told = told.collect::<Vec<_>>().join(", ");
    let keep = if stay.len() == 1 {
        "1 reminder keeps its".to_owned()
    } else {
        format!("{} reminders keep their", stay.len())
    };
    let was = first.to_zoned(before.clone()).strftime("%-d %b %Y %H:%M").to_string().to_lowercase();
    Some(format!("{keep} moment: {told}. to move one: ollim-bot move {id} to {was}"))
}

/// Notes that a name set in the chat overrides the stored one.
fn name_override_note(here: &SetupContext) -> Option<String> {
    let name = here.store.runtime_settings().name?;
    Some(format!(
        "in the chat you said that you are called {name}, and that counts. `/name default` takes it back."
    ))
}

/// Returns the given value, or asks until the answer is valid, so that earlier answers are not
/// lost.
fn ask(
    here: &SetupContext,
    asks: bool,
    given: Option<String>,
    question: &str,
    usual: &str,
    read: fn(&str) -> Result<&str, CommandError>,
) -> Result<Option<String>, SectionError> {
    if given.is_some() || !asks {
        return Ok(given.as_deref().map(read).transpose()?.map(str::to_owned));
    }
    let mut tries = Attempts::default();
    loop {
        let answer = here.prompter.line(&format!("{question} [{usual}] "))?.ok_or(SectionError::Cancelled)?;
        let answer = if answer.is_empty() { usual.to_owned() } else { answer };
        match read(&answer) {
            _ if is_cancel(&answer) => return Err(SectionError::Cancelled),
            Ok(right) => return Ok(Some(right.to_owned())),
            Err(wrong) => tries.retry(&here.prompter, SecretSource::Prompt, &wrong.to_string())?,
        }
    }
}

fn parse_name(name: &str) -> Result<&str, CommandError> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME_LENGTH || name.chars().any(char::is_control) {
        Err(CommandError::Usage(format!("a name has 1 to {MAX_NAME_LENGTH} letters, on one line.")))
    } else {
        Ok(name)
    }
}

fn parse_zone(zone: &str) -> Result<&str, CommandError> {
    match TimeZone::get(zone.trim()) {
        Ok(_) => Ok(zone.trim()),
        Err(_) => Err(CommandError::Usage(format!(
            "there is no time zone called `{zone}`. use a name like Europe/Berlin."
        ))),
    }
}
