//! Names and the time zone.

use jiff::tz::TimeZone;

use super::keeping::Draft;
use super::{Done, Here};
use crate::checkup::{Finding, State};
use crate::cli::YouSetup;
use crate::exit::Failed;
use crate::settings::Settings;

/// The longest name.
const LONGEST: usize = 64;

/// How the human is known.
pub fn standing(settings: &Settings) -> Finding {
    let zone = settings.zone.value.iana_name().unwrap_or("UTC");
    let names = &settings.names.value;
    let text = format!("{} · {zone} · i am {}", names.human, names.assistant);
    let state = match settings.names.from == "OLLIM_USER_NAME" && settings.zone.from != "a guess" {
        true => State::Fine,
        false => State::Absent,
    };
    Finding::new("you", state, text)
}

/// Keeps names and the zone: those that were given, or else what the human answers.
pub fn set_up(here: &mut Here, given: YouSetup) -> Result<Done, Failed> {
    let settings = &here.settings;
    let nothing_new = given.name.is_none() && given.bot_name.is_none() && given.timezone.is_none();
    let known = standing(settings);
    if nothing_new && (known.state == State::Fine && !here.asker.can_ask()) {
        return Ok(Done::works("you", format!("{}. nothing to do", known.text)));
    }
    if nothing_new && !here.asker.can_ask() {
        return Err(Failed::Usage("say it: --name NAME, --bot-name NAME or --timezone ZONE".to_owned()));
    }
    let zone = settings.zone.value.iana_name().unwrap_or("UTC");
    let names = &settings.names.value;
    let ask = nothing_new;
    let name = answered(here, (ask, given.name), ("what are you called?", &names.human))?;
    let bot_name = answered(here, (ask, given.bot_name), ("what am i called?", &names.assistant))?;
    let timezone = answered(here, (ask, given.timezone), ("your time zone?", zone))?;
    let draft = [("OLLIM_USER_NAME", name), ("OLLIM_BOT_NAME", bot_name)].into_iter().try_fold(
        Draft::default(),
        |draft, (variable, value)| match value {
            Some(value) => Ok::<_, Failed>(draft.and(variable, Some(name_of(&value)?))),
            None => Ok(draft),
        },
    )?;
    let draft = match timezone {
        Some(zone) => draft.and("OLLIM_TIMEZONE", Some(zone_of(&zone)?)),
        None => draft,
    };
    let trial = here.keeping.trial(&draft)?;
    let asides = here.keeping.keep(&draft)?.into_iter().chain(said_otherwise(here));
    let text = standing(&trial.settings).text;
    Ok(Done::changed("you", asides.fold(text, |text, aside| format!("{text}\n  {aside}"))))
}

/// What was said in the chat comes before what is kept here.
fn said_otherwise(here: &Here) -> Option<String> {
    let name = here.keeping.said_in_chat().name?;
    Some(format!(
        "in the chat you said that you are called {name}, and that counts. `/name default` takes it back."
    ))
}

fn answered(
    here: &Here,
    (ask, given): (bool, Option<String>),
    (question, usual): (&str, &str),
) -> Result<Option<String>, Failed> {
    if given.is_some() || !ask {
        return Ok(given);
    }
    let answer = here.asker.line(&format!("{question} [{usual}] "))?;
    Ok(Some(answer.filter(|answer| !answer.is_empty()).unwrap_or_else(|| usual.to_owned())))
}

fn name_of(name: &str) -> Result<&str, Failed> {
    let name = name.trim();
    match name.is_empty() || name.chars().count() > LONGEST || name.chars().any(char::is_control) {
        true => Err(Failed::Usage(format!("a name has 1 to {LONGEST} letters, on one line."))),
        false => Ok(name),
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
