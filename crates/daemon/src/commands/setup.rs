//! `ollim-bot setup`: sections that connect the model, accounts and the service. Each can be run
//! again on its own.
//!
//! A section first checks what is set up and leaves it alone if it works. New values are tried
//! before they are stored, so a wrong key never replaces a working one.

mod caldav;
mod discord;
mod google;
mod mail;
mod model;
mod prompt;
mod service;
mod store;
mod you;

use std::process::ExitCode;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, join4};
use journal::disk::Disk;
use serde_json::json;

use super::print_result;
use crate::checks::accounts::{self as account_checks, CheckContext};
use crate::checks::{Finding, State, data};
use crate::cli::{Output, Section, SetupArgs};
use crate::clock::SystemClock;
use crate::exit::CommandError;
use crate::settings::{Backend, Environment, Settings};
use prompt::{Prompter, SectionError};
use store::SetupStore;

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
const CANCELLED: &str = "left. nothing was changed.";

/// Dependencies of every section.
pub struct SetupContext {
    pub settings: Settings,
    pub prompter: Prompter,
    pub store: SetupStore,
    pub checks: CheckContext,
}

/// Runs one section, the menu, or the list of sections.
pub async fn run(
    args: SetupArgs,
    environment: Environment,
    settings: Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let looker = CheckContext {
        disk: Arc::clone(&disk),
        clock: Arc::new(SystemClock::new(settings.zone.value.clone())),
    };
    let mut here = SetupContext {
        prompter: if args.no_input || output.json { Prompter::silent() } else { Prompter::new() },
        store: SetupStore::new(environment, &settings.paths, disk),
        checks: looker,
        settings,
    };
    here.store.remove_leftovers();
    match args.section {
        Some(section) => match set_up(&mut here, section).await {
            Ok(done) => {
                print_section_result(&done, output);
                Ok(ExitCode::SUCCESS)
            }
            Err(SectionError::Cancelled) => {
                here.prompter.print(CANCELLED);
                Ok(ExitCode::SUCCESS)
            }
            Err(SectionError::Failed(failed)) => Err(failed),
        },
        None if here.prompter.can_ask() => menu(&mut here, output).await,
        None => list(&here, output).await,
    }
}

/// Reads the settings leniently: rejected ones are reported and ignored, because this setup may
/// repair them.
pub fn read_leniently(
    environment: &Environment,
    wrong: &CommandError,
    output: &Output,
) -> Result<Settings, CommandError> {
    let (settings, refused) = Settings::read_leniently(environment)?;
    let wrong = ignored_setting_text(wrong);
    output.voice.note(&wrong);
    let others =
        refused.iter().map(|refusal| ignored_setting_text(&refusal.why)).filter(|other| *other != wrong);
    others.for_each(|other| output.voice.note(&other));
    Ok(settings)
}

fn ignored_setting_text(why: &CommandError) -> String {
    format!("✗ settings  {why} i go on without it.")
}

/// The result of a section.
pub struct SectionResult {
    section: &'static str,
    changed: bool,
    text: String,
}

impl SectionResult {
    /// Nothing had to be changed.
    pub fn unchanged(section: &'static str, text: impl Into<String>) -> Self {
        Self { section, changed: false, text: text.into() }
    }

    /// Something was changed, and works.
    pub fn changed(section: &'static str, text: impl Into<String>) -> Self {
        Self { section, changed: true, text: text.into() }
    }
}

fn print_section_result(done: &SectionResult, output: &Output) {
    let value = json!({ "ok": true, "section": done.section, "changed": done.changed, "text": done.text });
    print_result(output, &value, &format!("✓ {}  {}", done.section, done.text));
}

fn set_up(here: &mut SetupContext, section: Section) -> BoxFuture<'_, Result<SectionResult, SectionError>> {
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
async fn check_sections(here: &SetupContext) -> [Finding; 7] {
    let settings = &here.settings;
    let looker = &here.checks;
    let (model, discord, calendar, mail) = join4(
        crate::checks::model::check(settings),
        crate::checks::discord::check(settings),
        account_checks::calendar(settings, looker),
        account_checks::mail(settings, looker),
    )
    .await;
    let you = you::check(settings);
    let google = account_checks::google(settings, looker);
    let calendar = match &settings.integrations.accounts.calendar {
        Backend::Local | Backend::Google => Finding::absent("caldav", "not connected"),
        Backend::CalDav(_) | Backend::Invalid(_) => calendar,
    };
    let service = crate::service::check(&settings.integrations.service, &settings.paths);
    [model, discord, calendar, mail, google, service, you]
}

async fn list(here: &SetupContext, output: &Output) -> Result<ExitCode, CommandError> {
    let standings = check_sections(here).await;
    let rows: Vec<_> = SECTIONS
        .iter()
        .zip(&standings)
        .map(|((name, hint), found)| {
            json!({ "section": name, "state": found.state.as_str(), "text": found.text, "hint": hint })
        })
        .collect();
    let wrong = standings.iter().any(|found| found.state == State::Wrong);
    print_result(output, &json!({ "ok": !wrong, "sections": rows }), &menu_lines(&standings));
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn menu_lines(standings: &[Finding]) -> String {
    let line = |(number, ((name, hint), found)): (usize, (&(&str, &str), &Finding))| {
        let hint = if found.state == State::Fine { String::new() } else { format!("   {hint}") };
        format!("  {} {:<8} {} {}{hint}\n", number + 1, name, found.state.symbol(), found.text)
    };
    SECTIONS.iter().zip(standings).enumerate().map(line).collect()
}

/// Offers all sections until the user quits.
async fn menu(here: &mut SetupContext, output: &Output) -> Result<ExitCode, CommandError> {
    check_data_directory(here)?;
    loop {
        let standings = check_sections(here).await;
        here.prompter.print(menu_lines(&standings).trim_end());
        let chosen = match here.prompter.line("choose 1-7, or q: ")? {
            None => return Ok(ExitCode::SUCCESS),
            Some(chosen) => chosen,
        };
        let number = chosen.parse::<usize>().ok().filter(|number| (1..=SECTIONS.len()).contains(number));
        let named = SECTIONS.iter().position(|(name, _)| *name == chosen).map(|index| index + 1);
        let section = match (chosen.as_str(), number.or(named)) {
            ("q" | "quit" | "exit", _) => return Ok(ExitCode::SUCCESS),
            (_, Some(number)) => section_by_number(number),
            (_, None) => {
                here.prompter.print("that is none of them.");
                continue;
            }
        };
        match set_up(here, section).await {
            Ok(done) => print_section_result(&done, output),
            Err(SectionError::Cancelled) => here.prompter.print(CANCELLED),
            Err(SectionError::Failed(failed)) => here.prompter.print(&format!("✗ {failed}")),
        }
        let (settings, refused) = here.store.settings()?;
        here.settings = settings;
        refused.iter().for_each(|refusal| here.prompter.print(&ignored_setting_text(&refusal.why)));
    }
}

fn section_by_number(number: usize) -> Section {
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
fn check_data_directory(here: &SetupContext) -> Result<(), CommandError> {
    let found = data::directory(&here.settings.paths);
    match found.state {
        State::Wrong => Err(CommandError::Configuration(found.text)),
        State::Fine | State::Absent | State::Warning => Ok(()),
    }
}
