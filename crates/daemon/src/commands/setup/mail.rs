//! Setup of an IMAP mailbox, which is only read.

use accounts::mail::imap::ImapServer;

use super::model::with_notes;
use super::prompt::{Attempts, SecretSource, SectionError};
use super::store::Draft;
use super::{SectionResult, SetupContext};
use crate::checks::{State, accounts as account_checks};
use crate::cli::MailSetup;
use crate::settings::MailBackend;
use crate::settings::secrets::IMAP;

const NO_URL: &str = "say where the mailbox is: --url imaps://mail.example.org";
const NO_USER: &str = "say who you are there: --user NAME";
const NO_PASSWORD: &str = "give the password with --password-file FILE or --password-stdin";

/// Connects a mailbox, unless one works and nothing new was given.
pub async fn set_up(here: &mut SetupContext, given: MailSetup) -> Result<SectionResult, SectionError> {
    let password =
        SecretSource::new((given.password.password_file.as_deref(), given.password.password_stdin));
    let nothing_new = given.url.is_none() && given.user.is_none() && !password.is_given();
    if nothing_new && matches!(here.settings.integrations.accounts.mail, MailBackend::Imap { .. }) {
        let found = account_checks::mail(&here.settings, &here.checks).await;
        if found.state == State::Fine {
            return Ok(SectionResult::unchanged("mail", format!("{}. nothing to do", found.text)));
        }
        here.prompter.print(&format!("{} mail  {}", found.state.symbol(), found.text));
    }
    let mut tries = Attempts::default();
    let (draft, found) = loop {
        let draft = ask(here, &given, password)?;
        let trial = here.store.trial(&draft)?;
        let found = account_checks::mail(&trial.settings, &here.checks).await;
        if found.state == State::Fine {
            break (draft, found);
        }
        tries.retry(&here.prompter, password, &found.text)?;
    };
    let asides = here.store.save(&draft)?;
    Ok(SectionResult::changed("mail", with_notes(here, found.text, asides).await))
}

fn ask(here: &SetupContext, given: &MailSetup, password: SecretSource<'_>) -> Result<Draft, SectionError> {
    let question = "where is the mailbox? (such as imaps://mail.example.org): ";
    let check = |address: &str| ImapServer::parse(address).map(drop).map_err(|bad| bad.to_string());
    let url = here.prompter.address(given.url.as_deref(), question, NO_URL, check)?;
    let user = here.prompter.text(given.user.as_deref(), "your name there: ", NO_USER)?;
    let secret = here.prompter.secret(password, "your password there (hidden): ", NO_PASSWORD)?;
    let draft = Draft::default().with("OLLIM_IMAP_URL", Some(&url)).with("OLLIM_IMAP_USER", Some(&user));
    Ok(draft.secret(IMAP, secret))
}
