//! A calendar and tasks on a CalDAV server.

use super::asking::Given;
use super::keeping::Draft;
use super::model::here_and;
use super::{Done, Here};
use crate::checkup::{Finding, State, accounts};
use crate::cli::CaldavSetup;
use crate::exit::Failed;
use crate::settings::Keeper;
use crate::settings::key::CALDAV;

const NO_URL: &str = "say where the server is: --url https://cloud.example.org";
const NO_USER: &str = "say who you are there: --user NAME";
const NO_PASSWORD: &str = "give the password with --password-file FILE or --password-stdin";

/// Connects a server, unless one works and nothing new was given.
pub async fn set_up(here: &mut Here, given: CaldavSetup) -> Result<Done, Failed> {
    let password = Given::new((given.password.password_file.as_deref(), given.password.password_stdin));
    let nothing_new = given.url.is_none() && given.user.is_none() && !password.is_said();
    if nothing_new && matches!(here.settings.places.accounts.calendar, Keeper::CalDav(_)) {
        let found = accounts::calendar(&here.settings, &here.looker).await;
        if found.state == State::Fine {
            return Ok(Done::works("caldav", format!("{}. nothing to do", found.text)));
        }
        here.asker.say(&format!("{} caldav  {}", found.state.mark(), found.text));
    }
    let url = here.asker.text(
        given.url.as_deref(),
        "where is the server? (such as https://cloud.example.org): ",
        NO_URL,
    )?;
    let user = here.asker.text(given.user.as_deref(), "your name there: ", NO_USER)?;
    let secret = here.asker.secret(password, "your password there (hidden): ", NO_PASSWORD)?;
    let draft = Draft::default()
        .and("OLLIM_CALDAV_URL", Some(&url))
        .and("OLLIM_CALDAV_USER", Some(&user))
        .and("OLLIM_CALDAV_CALENDAR", given.calendar.as_deref())
        .and("OLLIM_CALDAV_TASKS", given.tasks.as_deref())
        .and("OLLIM_CALENDAR", None)
        .and("OLLIM_TASKS", None)
        .secret(CALDAV, secret);
    let (draft, text) = tried(here, draft).await?;
    let asides = here.keeping.keep(&draft)?;
    Ok(Done::changed("caldav", here_and(here, text, asides).await))
}

/// Tries both. Whoever has only one of them keeps the other in a file.
async fn tried(here: &Here, draft: Draft) -> Result<(Draft, String), Failed> {
    let trial = here.keeping.trial(&draft)?;
    let calendar = accounts::calendar(&trial.settings, &here.looker).await;
    let tasks = accounts::tasks(&trial.settings, &here.looker).await;
    let is_fine = |found: &Finding| found.state == State::Fine;
    let told = |found: &Finding| format!("{} {}", found.what, found.text);
    match (is_fine(&calendar), is_fine(&tasks)) {
        (true, true) => Ok((draft, format!("{}; {}", told(&calendar), told(&tasks)))),
        (true, false) => {
            let text = format!("{}. tasks stay in a file of yours: {}", told(&calendar), tasks.text);
            Ok((draft.and("OLLIM_TASKS", Some("local")), text))
        }
        (false, true) => {
            let text = format!("{}. the calendar stays in a file of yours: {}", told(&tasks), calendar.text);
            Ok((draft.and("OLLIM_CALENDAR", Some("local")), text))
        }
        (false, false) => Err(Failed::NotDone(format!("{} nothing was changed.", calendar.text))),
    }
}
