//! `ollim-bot setup`: sections that connect the model, accounts and the service. Each can be run
//! again on its own.
//!
//! A section first checks what is set up and leaves it alone if it works. New values are tried
//! before they are stored, so a wrong key never replaces a working one.

mod asking;
mod caldav;
mod discord;
mod google;
mod keeping;
mod mail;
mod model;
mod service;
mod you;

use std::process::ExitCode;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, join4};
use journal::disk::Disk;
use serde_json::json;

use super::answer;
use crate::checkup::accounts::{self as account_checks, Looker};
use crate::checkup::{Finding, State, data};
use crate::cli::{Output, Section, Setup};
use crate::clock::SystemClock;
use crate::exit::Failed;
use crate::settings::{Environment, Keeper, Settings};
use asking::{Asker, Ended};
use keeping::Keeping;

/// The sections with the hints of the menu.
const SECTIONS: [(&str, &str); 7] = [
    ("model", "30 s with an api key"),
    ("discord", "about 3 min, 3 clicks"),
    ("caldav", "a calendar and tasks on a server of yours"),
    ("mail", "a mailbox that speaks imap, which is only read"),
    ("google", "tasks, calendar, mail"),
    ("service", "let it run by itself"),
    ("you", "names and time zone"),
];

/// The message after a cancelled section.
const LEFT: &str = "left. nothing was changed.";

/// Dependencies of every section.
pub struct Here {
    pub settings: Settings,
    pub asker: Asker,
    pub keeping: Keeping,
    pub looker: Looker,
}

/// Runs one section, the menu, or the list of sections.
pub async fn run(
    wanted: Setup,
    environment: Environment,
    settings: Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let looker =
        Looker { disk: Arc::clone(&disk), clock: Arc::new(SystemClock::new(settings.zone.value.clone())) };
    let mut here = Here {
        asker: if wanted.no_input || output.json { Asker::silent() } else { Asker::new() },
        keeping: Keeping::new(environment, &settings.paths, disk),
        looker,
        settings,
    };
    here.keeping.forget_tried();
    match wanted.section {
        Some(section) => match set_up(&mut here, section).await {
            Ok(done) => {
                tell(&done, output);
                Ok(ExitCode::SUCCESS)
            }
            Err(Ended::Left) => {
                here.asker.say(LEFT);
                Ok(ExitCode::SUCCESS)
            }
            Err(Ended::Failed(failed)) => Err(failed),
        },
        None if here.asker.can_ask() => menu(&mut here, output).await,
        None => list(&here, output).await,
    }
}

/// Reads the settings leniently: rejected ones are reported and ignored, because this setup may
/// repair them.
pub fn read_on(environment: &Environment, wrong: &Failed, output: &Output) -> Result<Settings, Failed> {
    let (settings, refused) = Settings::read_on(environment)?;
    let wrong = left_out(wrong);
    output.voice.note(&wrong);
    let others = refused.iter().map(|refusal| left_out(&refusal.why)).filter(|other| *other != wrong);
    others.for_each(|other| output.voice.note(&other));
    Ok(settings)
}

fn left_out(why: &Failed) -> String {
    format!("✗ settings  {why} i go on without it.")
}

/// The result of a section.
pub struct Done {
    section: &'static str,
    changed: bool,
    text: String,
}

impl Done {
    /// Nothing had to be changed.
    pub fn works(section: &'static str, text: impl Into<String>) -> Self {
        Self { section, changed: false, text: text.into() }
    }

    /// Something was changed, and works.
    pub fn changed(section: &'static str, text: impl Into<String>) -> Self {
        Self { section, changed: true, text: text.into() }
    }
}

fn tell(done: &Done, output: &Output) {
    let value = json!({ "ok": true, "section": done.section, "changed": done.changed, "text": done.text });
    answer(output, &value, &format!("✓ {}  {}", done.section, done.text));
}

fn set_up(here: &mut Here, section: Section) -> BoxFuture<'_, Result<Done, Ended>> {
    match section {
        Section::Model(given) => model::set_up(here, given).boxed(),
        Section::Discord(given) => discord::set_up(here, given).boxed(),
        Section::Caldav(given) => caldav::set_up(here, given).boxed(),
        Section::Mail(given) => mail::set_up(here, given).boxed(),
        Section::Google(given) => google::set_up(here, given).boxed(),
        Section::Service(given) => service::set_up(here, given).boxed(),
        Section::You(given) => you::set_up(here, given).boxed(),
    }
}

/// Checks all sections, in the order of `SECTIONS`.
async fn standings(here: &Here) -> [Finding; 7] {
    let settings = &here.settings;
    let looker = &here.looker;
    let (model, discord, calendar, mail) = join4(
        crate::checkup::model::look(settings),
        crate::checkup::discord::look(settings),
        account_checks::calendar(settings, looker),
        account_checks::mail(settings, looker),
    )
    .await;
    let you = you::standing(settings);
    let google = account_checks::google(settings, looker);
    let calendar = match &settings.places.accounts.calendar {
        Keeper::Local | Keeper::Google => Finding::absent("caldav", "not connected"),
        Keeper::CalDav(_) | Keeper::Wrong(_) => calendar,
    };
    let service = crate::service::look(&settings.places.service, &settings.paths);
    [model, discord, calendar, mail, google, service, you]
}

async fn list(here: &Here, output: &Output) -> Result<ExitCode, Failed> {
    let standings = standings(here).await;
    let rows: Vec<_> = SECTIONS
        .iter()
        .zip(&standings)
        .map(|((name, hint), found)| {
            json!({ "section": name, "state": found.state.word(), "text": found.text, "hint": hint })
        })
        .collect();
    let wrong = standings.iter().any(|found| found.state == State::Wrong);
    answer(output, &json!({ "ok": !wrong, "sections": rows }), &lines(&standings));
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn lines(standings: &[Finding]) -> String {
    let line = |(number, ((name, hint), found)): (usize, (&(&str, &str), &Finding))| {
        let hint = if found.state == State::Fine { String::new() } else { format!("   {hint}") };
        format!("  {} {:<8} {} {}{hint}\n", number + 1, name, found.state.mark(), found.text)
    };
    SECTIONS.iter().zip(standings).enumerate().map(line).collect()
}

/// Offers all sections until the user quits.
async fn menu(here: &mut Here, output: &Output) -> Result<ExitCode, Failed> {
    data_is_usable(here)?;
    loop {
        let standings = standings(here).await;
        here.asker.say(lines(&standings).trim_end());
        let chosen = match here.asker.line("choose 1-7, or q: ")? {
            None => return Ok(ExitCode::SUCCESS),
            Some(chosen) => chosen,
        };
        let number = chosen.parse::<usize>().ok().filter(|number| (1..=SECTIONS.len()).contains(number));
        let named = SECTIONS.iter().position(|(name, _)| *name == chosen).map(|index| index + 1);
        let section = match (chosen.as_str(), number.or(named)) {
            ("q" | "quit" | "exit", _) => return Ok(ExitCode::SUCCESS),
            (_, Some(number)) => section(number),
            (_, None) => {
                here.asker.say("that is none of them.");
                continue;
            }
        };
        match set_up(here, section).await {
            Ok(done) => tell(&done, output),
            Err(Ended::Left) => here.asker.say(LEFT),
            Err(Ended::Failed(failed)) => here.asker.say(&format!("✗ {failed}")),
        }
        let (settings, refused) = here.keeping.settings()?;
        here.settings = settings;
        refused.iter().for_each(|refusal| here.asker.say(&left_out(&refusal.why)));
    }
}

fn section(number: usize) -> Section {
    match number {
        1 => Section::Model(Default::default()),
        2 => Section::Discord(Default::default()),
        3 => Section::Caldav(Default::default()),
        4 => Section::Mail(Default::default()),
        5 => Section::Google(Default::default()),
        6 => Section::Service(Default::default()),
        _ => Section::You(Default::default()),
    }
}

/// Checks that the data directory can be used.
fn data_is_usable(here: &Here) -> Result<(), Failed> {
    let found = data::directory(&here.settings.paths);
    match found.state {
        State::Wrong => Err(Failed::Configuration(found.text)),
        State::Fine | State::Absent | State::Warning => Ok(()),
    }
}
