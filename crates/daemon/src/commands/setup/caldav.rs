//! Setup of a calendar and tasks on a CalDAV server.

use super::asking::{Ended, Given, Tries};
use super::keeping::Draft;
use super::model::here_and;
use super::{Done, Here};
use crate::checkup::{Finding, State, accounts};
use crate::cli::CaldavSetup;
use crate::settings::Keeper;
use crate::settings::key::CALDAV;

const NO_URL: &str = "say where the server is: --url https://cloud.example.org";
const NO_USER: &str = "say who you are there: --user NAME";
const NO_PASSWORD: &str = "give the password with --password-file FILE or --password-stdin";

/// Connects a server, unless one works and nothing new was given.
pub async fn set_up(here: &mut Here, given: CaldavSetup) -> Result<Done, Ended> {
    let password = Given::new((given.password.password_file.as_deref(), given.password.password_stdin));
    let nothing_new = given.url.is_none() && given.user.is_none() && !password.is_said();
    if nothing_new && matches!(here.settings.places.accounts.calendar, Keeper::CalDav(_)) {
        let found = accounts::calendar(&here.settings, &here.looker).await;
        if found.state == State::Fine {
            return Ok(Done::works("caldav", format!("{}. nothing to do", found.text)));
        }
        here.asker.say(&format!("{} caldav  {}", found.state.mark(), found.text));
    }
    let mut tries = Tries::default();
    let (draft, text) = loop {
        match tried(here, asked(here, &given, password)?).await? {
            Ok(right) => break right,
            Err(why) => tries.again(&here.asker, password, &why)?,
        }
    };
    let asides = here.keeping.keep(&draft)?;
    Ok(Done::changed("caldav", here_and(here, text, asides).await))
}

fn asked(here: &Here, given: &CaldavSetup, password: Given<'_>) -> Result<Draft, Ended> {
    let question = "where is the server? (such as https://cloud.example.org): ";
    let check = |address: &str| match address.parse::<reqwest::Url>() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("`{address}` is no address. write it like https://cloud.example.org.")),
    };
    let url = here.asker.address(given.url.as_deref(), question, NO_URL, check)?;
    let user = here.asker.text(given.user.as_deref(), "your name there: ", NO_USER)?;
    let secret = here.asker.secret(password, "your password there (hidden): ", NO_PASSWORD)?;
    Ok(Draft::default()
        .and("OLLIM_CALDAV_URL", Some(&url))
        .and("OLLIM_CALDAV_USER", Some(&user))
        .and("OLLIM_CALDAV_CALENDAR", given.calendar.as_deref())
        .and("OLLIM_CALDAV_TASKS", given.tasks.as_deref())
        .and("OLLIM_CALENDAR", None)
        .and("OLLIM_TASKS", None)
        .secret(CALDAV, secret))
}

/// Tries both collections; fails if neither works. If only one works, the other stays in a local
/// file.
async fn tried(here: &Here, draft: Draft) -> Result<Result<(Draft, String), String>, Ended> {
    let trial = here.keeping.trial(&draft)?;
    let calendar = accounts::calendar(&trial.settings, &here.looker).await;
    let tasks = accounts::tasks(&trial.settings, &here.looker).await;
    let is_fine = |found: &Finding| found.state == State::Fine;
    let told = |found: &Finding| format!("{} {}", found.what, found.text);
    Ok(match (is_fine(&calendar), is_fine(&tasks)) {
        (true, true) => Ok((draft, format!("{}; {}", told(&calendar), told(&tasks)))),
        (true, false) => {
            let text = format!("{}. tasks stay in a file of yours: {}", told(&calendar), tasks.text);
            Ok((draft.and("OLLIM_TASKS", Some("local")), text))
        }
        (false, true) => {
            let text = format!("{}. the calendar stays in a file of yours: {}", told(&tasks), calendar.text);
            Ok((draft.and("OLLIM_CALENDAR", Some("local")), text))
        }
        (false, false) => Err(calendar.text),
    })
}
