//! Checks whether the task list, the calendar and the mailbox respond.

use std::sync::Arc;
use std::time::Duration;

use accounts::AccountError;
use accounts::google::{ConnectionState, Service, join_names};
use accounts::tasks::TaskFilter;
use engine::ports::Clock;
use jiff::ToSpan;
use journal::disk::Disk;

use super::Finding;
use crate::commands::accounts::backends;
use crate::google::account;
use crate::settings::{Backend, MailBackend, Settings};

/// Timeout for a remote service.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Dependencies of the checks.
#[derive(Clone)]
pub struct CheckContext {
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
}

pub async fn calendar(settings: &Settings, looker: &CheckContext) -> Finding {
    let asked = async {
        let calendar = backends::calendar(settings, Arc::clone(&looker.disk), &looker.clock)?;
        let from = looker.clock.now();
        let until = from.checked_add(1.day()).unwrap_or_else(|_| from.clone());
        Ok(calendar.events_between(from, until).await?.len())
    };
    check_store("calendar", &settings.integrations.accounts.calendar, asked, "event in the next day").await
}

pub async fn tasks(settings: &Settings, looker: &CheckContext) -> Finding {
    let asked = async {
        let tasks = backends::tasks(settings, Arc::clone(&looker.disk), &looker.clock)?;
        Ok(tasks.list(TaskFilter::Open).await?.len())
    };
    check_store("tasks", &settings.integrations.accounts.tasks, asked, "open task").await
}

pub async fn mail(settings: &Settings, looker: &CheckContext) -> Finding {
    let (place, fix) = match &settings.integrations.accounts.mail {
        MailBackend::Invalid(why) => {
            return Finding::wrong("mail", why.clone()).with_fix("ollim-bot setup mail");
        }
        MailBackend::Google => match connection(settings, looker) {
            Ok(ConnectionState::Connected) if granted(settings, looker).contains(&Service::Mail) => {
                ("at google", "ollim-bot setup google")
            }
            Ok(ConnectionState::Connected) => {
                return Finding::absent("mail", "no mailbox is set up; Google is connected without mail")
                    .with_fix("ollim-bot setup mail, or for Gmail: ollim-bot google connect mail");
            }
            Ok(ConnectionState::Disconnected | ConnectionState::NoClient) => {
                return Finding::absent("mail", "no mailbox is set up").with_fix("ollim-bot setup mail");
            }
            Err(trouble) => return Finding::wrong("mail", trouble.to_string()),
        },
        MailBackend::Imap { .. } => ("by imap", "ollim-bot setup mail"),
    };
    let asked = async {
        let mailbox = backends::mailbox(settings, Arc::clone(&looker.disk), &looker.clock)?;
        Ok(mailbox.labels().await?.len())
    };
    match with_timeout(asked).await {
        Ok(folders) => Finding::fine("mail", format!("{place}, {}", count_text(folders, "folder"))),
        Err(trouble) => Finding::wrong("mail", trouble.to_string()).with_fix(fix),
    }
}

pub fn google(settings: &Settings, looker: &CheckContext) -> Finding {
    match connection(settings, looker) {
        Ok(ConnectionState::Connected) => {
            let granted = granted(settings, looker);
            Finding::fine("google", format!("connected for {}", join_names(&granted)))
        }
        Ok(ConnectionState::Disconnected | ConnectionState::NoClient) => withdrawn_access(settings, looker)
            .unwrap_or_else(|| Finding::absent("google", "not connected").with_fix("ollim-bot setup google")),
        Err(trouble) => Finding::wrong("google", trouble.to_string()).with_fix("ollim-bot setup google"),
    }
}

/// Reports that Google withdrew an access that was granted before, until it is renewed or removed.
pub fn withdrawn_access(settings: &Settings, looker: &CheckContext) -> Option<Finding> {
    let google = account(settings, Arc::clone(&looker.disk), &looker.clock).ok()?;
    let withdrawal = google.last_revocation()?;
    let when = withdrawal.at.to_zoned(looker.clock.now().time_zone().clone());
    let mut text = format!("access was withdrawn on {}", when.strftime("%Y-%m-%d at %H:%M"));
    let mut fix = "ollim-bot setup google; to go on without it: ollim-bot google disconnect".to_owned();
    if withdrawal.in_testing {
        text.push_str(", within 8 days after connecting: the Google project is probably in status Testing");
        fix =
            format!("open https://console.cloud.google.com/auth/audience and press Publish app, then {fix}");
    }
    Some(Finding::wrong("google", text).with_fix(&fix))
}

/// Returns the services that the user granted; none if the files cannot be read.
fn granted(settings: &Settings, looker: &CheckContext) -> Vec<Service> {
    let google = account(settings, Arc::clone(&looker.disk), &looker.clock);
    google.and_then(|google| google.granted_services()).unwrap_or_default()
}

/// Returns the state of the Google connection according to our files.
pub fn connection(settings: &Settings, looker: &CheckContext) -> Result<ConnectionState, AccountError> {
    account(settings, Arc::clone(&looker.disk), &looker.clock)?.connection_state()
}

async fn check_store(
    what: &'static str,
    keeper: &Backend,
    asked: impl Future<Output = Result<usize, AccountError>>,
    thing: &str,
) -> Finding {
    let (place, fix) = match keeper {
        Backend::Local => ("a file of yours", None),
        Backend::CalDav(_) => ("by caldav", Some("ollim-bot setup caldav")),
        Backend::Google => ("at google", Some("ollim-bot setup google")),
        Backend::Invalid(why) => return Finding::wrong(what, why.clone()).with_fix("ollim-bot setup caldav"),
    };
    match with_timeout(asked).await {
        Ok(found) => Finding::fine(what, format!("{place}, {}", count_text(found, thing))),
        Err(trouble) => Finding { fix: fix.map(str::to_owned), ..Finding::wrong(what, trouble.to_string()) },
    }
}

fn count_text(number: usize, thing: &str) -> String {
    match (number, thing.split_once(' ')) {
        (1, _) => format!("1 {thing}"),
        (_, Some((noun, rest))) if noun == "event" => format!("{number} {noun}s {rest}"),
        (_, Some(_) | None) => format!("{number} {thing}s"),
    }
}

async fn with_timeout<T>(asked: impl Future<Output = Result<T, AccountError>>) -> Result<T, AccountError> {
    match tokio::time::timeout(TIMEOUT, asked).await {
        Ok(answered) => answered,
        Err(_) => Err(AccountError::Unavailable(format!(
            "nobody answered within {} s. try again later.",
            TIMEOUT.as_secs()
        ))),
    }
}
