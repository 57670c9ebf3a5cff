//! Setup of a calendar and tasks on a CalDAV server.

use super::model::with_notes;
use super::prompt::{Attempts, SecretSource, SectionError};
use super::store::Draft;
use super::{SectionResult, SetupContext};
use crate::checks::{Finding, State, accounts};
use crate::cli::CaldavSetup;
use crate::settings::Backend;
use crate::settings::secrets::CALDAV;

const NO_URL: &str = "say where the server is: --url https://cloud.example.org";
const NO_USER: &str = "say who you are there: --user NAME";
const NO_PASSWORD: &str = "give the password with --password-file FILE or --password-stdin";

/// Connects a server, unless one works and nothing new was given.
pub async fn set_up(here: &mut SetupContext, given: CaldavSetup) -> Result<SectionResult, SectionError> {
    let password =
        SecretSource::new((given.password.password_file.as_deref(), given.password.password_stdin));
    let nothing_new = given.url.is_none() && given.user.is_none() && !password.is_given();
    if nothing_new && matches!(here.settings.integrations.accounts.calendar, Backend::CalDav(_)) {
        let found = accounts::calendar(&here.settings, &here.checks).await;
        if found.state == State::Fine {
            return Ok(SectionResult::unchanged("caldav", format!("{}. nothing to do", found.text)));
        }
        here.prompter.print(&format!("{} caldav  {}", found.state.symbol(), found.text));
    }
    let mut tries = Attempts::default();
    let (draft, text) = loop {
        match try_draft(here, ask(here, &given, password)?).await? {
            Ok(right) => break right,
            Err(why) => tries.retry(&here.prompter, password, &why)?,
        }
    };
    let asides = here.store.save(&draft)?;
    Ok(SectionResult::changed("caldav", with_notes(here, text, asides).await))
}

fn ask(here: &SetupContext, given: &CaldavSetup, password: SecretSource<'_>) -> Result<Draft, SectionError> {
    let question = "where is the server? (such as https://cloud.example.org): ";
    let check = |address: &str| match address.parse::<reqwest::Url>() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("`{address}` is no address. write it like https://cloud.example.org.")),
    };
    let url = here.prompter.address(given.url.as_deref(), question, NO_URL, check)?;
    let user = here.prompter.text(given.user.as_deref(), "your name there: ", NO_USER)?;
    let secret = here.prompter.secret(password, "your password there (hidden): ", NO_PASSWORD)?;
    Ok(Draft::default()
        .with("OLLIM_CALDAV_URL", Some(&url))
        .with("OLLIM_CALDAV_USER", Some(&user))
        .with("OLLIM_CALDAV_CALENDAR", given.calendar.as_deref())
        .with("OLLIM_CALDAV_TASKS", given.tasks.as_deref())
        .with("OLLIM_CALENDAR", None)
        .with("OLLIM_TASKS", None)
        .secret(CALDAV, secret))
}

/// Tries both collections; fails if neither works. If only one works, the other stays in a local
/// file.
async fn try_draft(
    here: &SetupContext,
    draft: Draft,
) -> Result<Result<(Draft, String), String>, SectionError> {
    let trial = here.store.trial(&draft)?;
    let calendar = accounts::calendar(&trial.settings, &here.checks).await;
    let tasks = accounts::tasks(&trial.settings, &here.checks).await;
    let is_fine = |found: &Finding| found.state == State::Fine;
    let told = |found: &Finding| format!("{} {}", found.subject, found.text);
    Ok(match (is_fine(&calendar), is_fine(&tasks)) {
        (true, true) => Ok((draft, format!("{}; {}", told(&calendar), told(&tasks)))),
        (true, false) => {
            let text = format!("{}. tasks stay in a file of yours: {}", told(&calendar), tasks.text);
            Ok((draft.with("OLLIM_TASKS", Some("local")), text))
        }
        (false, true) => {
            let text = format!("{}. the calendar stays in a file of yours: {}", told(&tasks), calendar.text);
            Ok((draft.with("OLLIM_CALENDAR", Some("local")), text))
        }
        (false, false) => Err(calendar.text),
    })
}
