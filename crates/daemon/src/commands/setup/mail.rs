//! Setup of an IMAP mailbox, which is only read.

use accounts::mail::imap::Server;

use super::asking::{Ended, Given, Tries};
use super::keeping::Draft;
use super::model::here_and;
use super::{Done, Here};
use crate::checkup::{State, accounts as account_checks};
use crate::cli::MailSetup;
use crate::settings::Mail;
use crate::settings::key::IMAP;

const NO_URL: &str = "say where the mailbox is: --url imaps://mail.example.org";
const NO_USER: &str = "say who you are there: --user NAME";
const NO_PASSWORD: &str = "give the password with --password-file FILE or --password-stdin";

/// Connects a mailbox, unless one works and nothing new was given.
pub async fn set_up(here: &mut Here, given: MailSetup) -> Result<Done, Ended> {
    let password = Given::new((given.password.password_file.as_deref(), given.password.password_stdin));
    let nothing_new = given.url.is_none() && given.user.is_none() && !password.is_said();
    if nothing_new && matches!(here.settings.places.accounts.mail, Mail::Imap { .. }) {
        let found = account_checks::mail(&here.settings, &here.looker).await;
        if found.state == State::Fine {
            return Ok(Done::works("mail", format!("{}. nothing to do", found.text)));
        }
        here.asker.say(&format!("{} mail  {}", found.state.mark(), found.text));
    }
    let mut tries = Tries::default();
    let (draft, found) = loop {
        let draft = asked(here, &given, password)?;
        let trial = here.keeping.trial(&draft)?;
        let found = account_checks::mail(&trial.settings, &here.looker).await;
        if found.state == State::Fine {
            break (draft, found);
        }
        tries.again(&here.asker, password, &found.text)?;
    };
    let asides = here.keeping.keep(&draft)?;
    Ok(Done::changed("mail", here_and(here, found.text, asides).await))
}

fn asked(here: &Here, given: &MailSetup, password: Given<'_>) -> Result<Draft, Ended> {
    let question = "where is the mailbox? (such as imaps://mail.example.org): ";
    let check = |address: &str| Server::read(address).map(drop).map_err(|bad| bad.to_string());
    let url = here.asker.address(given.url.as_deref(), question, NO_URL, check)?;
    let user = here.asker.text(given.user.as_deref(), "your name there: ", NO_USER)?;
    let secret = here.asker.secret(password, "your password there (hidden): ", NO_PASSWORD)?;
    let draft = Draft::default().and("OLLIM_IMAP_URL", Some(&url)).and("OLLIM_IMAP_USER", Some(&user));
    Ok(draft.secret(IMAP, secret))
}
