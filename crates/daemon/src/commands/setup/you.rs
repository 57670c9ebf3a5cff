//! Setup of names and the time zone.

use std::sync::Arc;

use domain::schedule::{Planned, Reminder, What};
use engine::ports::Clock as _;
use jiff::tz::TimeZone;
use journal::disk::RealDisk;
use journal::files::items::Items;

use super::asking::{Ended, Given, Tries, leaves};
use super::keeping::Draft;
use super::model::here_and;
use super::{Done, Here};
use crate::checkup::{Finding, State};
use crate::cli::YouSetup;
use crate::clock::SystemClock;
use crate::commands::jobs::{day_and_time, rows};
use crate::exit::Failed;
use crate::settings::Settings;

const LONGEST: usize = 64;

/// The most reminders that are listed by name.
const NAMED: usize = 3;

/// Checks whether the user's name and zone are set.
pub fn standing(settings: &Settings) -> Finding {
    let zone = settings.zone.value.iana_name().unwrap_or("UTC");
    let names = &settings.names.value;
    let text = format!("{} · {zone} · i am {}", names.human, names.assistant);
    let state = if settings.names.from == "OLLIM_USER_NAME" && settings.zone.from != "a guess" {
        State::Fine
    } else {
        State::Absent
    };
    Finding::new("you", state, text)
}

/// Stores names and zone from flags or answers.
pub async fn set_up(here: &mut Here, given: YouSetup) -> Result<Done, Ended> {
    let settings = &here.settings;
    let nothing_new = given.name.is_none() && given.bot_name.is_none() && given.timezone.is_none();
    let known = standing(settings);
    if nothing_new && (known.state == State::Fine && !here.asker.can_ask()) {
        return Ok(Done::works("you", format!("{}. nothing to do", known.text)));
    }
    if nothing_new && !here.asker.can_ask() {
        let missing = "say it: --name NAME, --bot-name NAME or --timezone ZONE";
        return Err(Failed::Usage(missing.to_owned()).into());
    }
    let zone = settings.zone.value.iana_name().unwrap_or("UTC");
    let names = &settings.names.value;
    let asks = nothing_new;
    let name = answered(here, asks, given.name, "what are you called?", &names.human, name_of)?;
    let bot_name = answered(here, asks, given.bot_name, "what am i called?", &names.assistant, name_of)?;
    let timezone = answered(here, asks, given.timezone, "your time zone?", zone, zone_of)?;
    let answers =
        [("OLLIM_USER_NAME", name), ("OLLIM_BOT_NAME", bot_name), ("OLLIM_TIMEZONE", timezone)].into_iter();
    let draft = answers.filter_map(|(variable, value)| Some((variable, value?)));
    let draft = draft.fold(Draft::default(), |draft, (variable, value)| draft.and(variable, Some(&value)));
    let trial = here.keeping.trial(&draft)?;
    let stay = staying(settings, &trial.settings.zone.value);
    let asides = here.keeping.keep(&draft)?.into_iter().chain(said_otherwise(here)).chain(stay).collect();
    Ok(Done::changed("you", here_and(here, standing(&trial.settings).text, asides).await))
}

/// Notes that pending reminders keep their moment and so ring at another local time in `zone`.
fn staying(settings: &Settings, zone: &TimeZone) -> Option<String> {
    let before = &settings.zone.value;
    let now = SystemClock::new(zone.clone()).now().timestamp();
    let items = Items::<Reminder>::new(Arc::new(RealDisk), settings.paths.root(), before.clone());
    let stays = |planned: Planned| match &planned.what {
        What::Reminder(Reminder { cue: None, run_at, .. }) if run_at.at > now => {
            let is_moved =
                run_at.at.to_zoned(before.clone()).datetime() != run_at.at.to_zoned(zone.clone()).datetime();
            is_moved.then(|| (planned.name(), planned.id().clone(), run_at.at))
        }
        What::Reminder(_) | What::Routine(_) => None,
    };
    let rows = rows(&items).unwrap_or_default().into_iter();
    let mut stay: Vec<_> = rows.filter_map(|row| row.job.ok().and_then(stays)).collect();
    stay.sort_by_key(|(_, _, at)| *at);
    let (_, id, first) = stay.first()?;
    let told = stay
        .iter()
        .take(NAMED)
        .map(|(name, _, at)| format!("{name} is now at {}", day_and_time(*at, now, zone)));
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
fn said_otherwise(here: &Here) -> Option<String> {
    let name = here.keeping.said_in_chat().name?;
    Some(format!(
        "in the chat you said that you are called {name}, and that counts. `/name default` takes it back."
    ))
}

/// Returns the given value, or asks until the answer is valid, so that earlier answers are not
/// lost.
fn answered(
    here: &Here,
    asks: bool,
    given: Option<String>,
    question: &str,
    usual: &str,
    read: fn(&str) -> Result<&str, Failed>,
) -> Result<Option<String>, Ended> {
    if given.is_some() || !asks {
        return Ok(given.as_deref().map(read).transpose()?.map(str::to_owned));
    }
    let mut tries = Tries::default();
    loop {
        let answer = here.asker.line(&format!("{question} [{usual}] "))?.ok_or(Ended::Left)?;
        let answer = if answer.is_empty() { usual.to_owned() } else { answer };
        match read(&answer) {
            _ if leaves(&answer) => return Err(Ended::Left),
            Ok(right) => return Ok(Some(right.to_owned())),
            Err(wrong) => tries.again(&here.asker, Given::Nothing, &wrong.to_string())?,
        }
    }
}

fn name_of(name: &str) -> Result<&str, Failed> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > LONGEST || name.chars().any(char::is_control) {
        Err(Failed::Usage(format!("a name has 1 to {LONGEST} letters, on one line.")))
    } else {
        Ok(name)
    }
}

fn zone_of(zone: &str) -> Result<&str, Failed> {
    match TimeZone::get(zone.trim()) {
        Ok(_) => Ok(zone.trim()),
        Err(_) => Err(Failed::Usage(format!(
            "there is no time zone called `{zone}`. use a name like Europe/Berlin."
        ))),
    }
}
