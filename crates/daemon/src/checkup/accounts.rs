//! Checks whether the task list, the calendar and the mailbox respond.

use std::sync::Arc;
use std::time::Duration;

use accounts::Trouble;
use accounts::google::{Connection, Service, sentence};
use accounts::tasks::Which;
use engine::ports::Clock;
use jiff::ToSpan;
use journal::disk::Disk;

use super::Finding;
use crate::commands::accounts::keepers;
use crate::google::account;
use crate::settings::{Keeper, Mail, Settings};

/// Timeout for a remote service.
const PATIENCE: Duration = Duration::from_secs(10);

/// Dependencies of the checks.
#[derive(Clone)]
pub struct Looker {
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
}

pub async fn calendar(settings: &Settings, looker: &Looker) -> Finding {
    let asked = async {
        let calendar = keepers::calendar(settings, Arc::clone(&looker.disk), &looker.clock)?;
        let from = looker.clock.now();
        let until = from.checked_add(1.day()).unwrap_or_else(|_| from.clone());
        Ok(calendar.between(from, until).await?.len())
    };
    kept("calendar", &settings.places.accounts.calendar, asked, "event in the next day").await
}

pub async fn tasks(settings: &Settings, looker: &Looker) -> Finding {
    let asked = async {
        let tasks = keepers::tasks(settings, Arc::clone(&looker.disk), &looker.clock)?;
        Ok(tasks.list(Which::Open).await?.len())
    };
    kept("tasks", &settings.places.accounts.tasks, asked, "open task").await
}

pub async fn mail(settings: &Settings, looker: &Looker) -> Finding {
    let (place, fix) = match &settings.places.accounts.mail {
        Mail::Wrong(why) => return Finding::wrong("mail", why.clone()).fixed_by("ollim-bot setup mail"),
        Mail::Google => match connection(settings, looker) {
            Ok(Connection::Connected) if granted(settings, looker).contains(&Service::Mail) => {
                ("at google", "ollim-bot setup google")
            }
            Ok(Connection::Connected) => {
                return Finding::absent("mail", "no mailbox is set up; Google is connected without mail")
                    .fixed_by("ollim-bot setup mail, or for Gmail: ollim-bot google connect mail");
            }
            Ok(Connection::Apart | Connection::NoClient) => {
                return Finding::absent("mail", "no mailbox is set up").fixed_by("ollim-bot setup mail");
            }
            Err(trouble) => return Finding::wrong("mail", trouble.to_string()),
        },
        Mail::Imap { .. } => ("by imap", "ollim-bot setup mail"),
    };
    let asked = async {
        let mailbox = keepers::mailbox(settings, Arc::clone(&looker.disk), &looker.clock)?;
        Ok(mailbox.labels().await?.len())
    };
    match in_time(asked).await {
        Ok(folders) => Finding::fine("mail", format!("{place}, {}", counted(folders, "folder"))),
        Err(trouble) => Finding::wrong("mail", trouble.to_string()).fixed_by(fix),
    }
}

pub fn google(settings: &Settings, looker: &Looker) -> Finding {
    match connection(settings, looker) {
        Ok(Connection::Connected) => {
            let granted = granted(settings, looker);
            Finding::fine("google", format!("connected for {}", sentence(&granted)))
        }
        Ok(Connection::Apart | Connection::NoClient) => withdrawn(settings, looker)
            .unwrap_or_else(|| Finding::absent("google", "not connected").fixed_by("ollim-bot setup google")),
        Err(trouble) => Finding::wrong("google", trouble.to_string()).fixed_by("ollim-bot setup google"),
    }
}

/// Reports that Google withdrew an access that was granted before, until it is renewed or removed.
pub fn withdrawn(settings: &Settings, looker: &Looker) -> Option<Finding> {
    let google = account(settings, Arc::clone(&looker.disk), &looker.clock).ok()?;
    let withdrawal = google.withdrawn()?;
    let when = withdrawal.at.to_zoned(looker.clock.now().time_zone().clone());
    let mut text = format!("access was withdrawn on {}", when.strftime("%Y-%m-%d at %H:%M"));
    let mut fix = "ollim-bot setup google; to go on without it: ollim-bot google disconnect".to_owned();
    if withdrawal.in_testing {
        text.push_str(", within 8 days after connecting: the Google project is probably in status Testing");
        fix =
            format!("open https://console.cloud.google.com/auth/audience and press Publish app, then {fix}");
    }
    Some(Finding::wrong("google", text).fixed_by(&fix))
}

/// Returns the services that the user granted; none if the files cannot be read.
fn granted(settings: &Settings, looker: &Looker) -> Vec<Service> {
    let google = account(settings, Arc::clone(&looker.disk), &looker.clock);
    google.and_then(|google| google.granted()).unwrap_or_default()
}

/// Returns the state of the Google connection according to our files.
pub fn connection(settings: &Settings, looker: &Looker) -> Result<Connection, Trouble> {
    account(settings, Arc::clone(&looker.disk), &looker.clock)?.connection()
}

async fn kept(
    what: &'static str,
    keeper: &Keeper,
    asked: impl Future<Output = Result<usize, Trouble>>,
    thing: &str,
) -> Finding {
    let (place, fix) = match keeper {
        Keeper::Local => ("a file of yours", None),
        Keeper::CalDav(_) => ("by caldav", Some("ollim-bot setup caldav")),
        Keeper::Google => ("at google", Some("ollim-bot setup google")),
        Keeper::Wrong(why) => return Finding::wrong(what, why.clone()).fixed_by("ollim-bot setup caldav"),
    };
    match in_time(asked).await {
        Ok(found) => Finding::fine(what, format!("{place}, {}", counted(found, thing))),
        Err(trouble) => Finding { fix: fix.map(str::to_owned), ..Finding::wrong(what, trouble.to_string()) },
    }
}

fn counted(number: usize, thing: &str) -> String {
    match (number, thing.split_once(' ')) {
        (1, _) => format!("1 {thing}"),
        (_, Some((noun, rest))) if noun == "event" => format!("{number} {noun}s {rest}"),
        (_, Some(_) | None) => format!("{number} {thing}s"),
    }
}

async fn in_time<T>(asked: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(answered) => answered,
        Err(_) => {
            Err(Trouble::Away(format!("nobody answered within {} s. try again later.", PATIENCE.as_secs())))
        }
    }
}
