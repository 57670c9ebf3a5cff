//! Selects the configured backend of the tasks, the calendar and the mailbox.

use std::sync::Arc;

use accounts::Trouble;
use accounts::caldav::{CalDavCalendar, CalDavTasks};
use accounts::calendar::{Calendar, LocalCalendar};
use accounts::google::{Connection, Google, Service};
use accounts::mail::Mailbox;
use accounts::mail::imap::{self, Imap};
use accounts::tasks::{LocalTasks, TaskList};
use engine::ports::Clock;
use journal::disk::Disk;

use super::connecting;
use super::shelf::DataShelf;
use crate::cli::Account;
use crate::google::account;
use crate::settings::{Accounts, Keeper, Mail, Settings};

/// Files of the data directory that the user reads and edits.
const TASKS: &str = "tasks.md";
const CALENDAR: &str = "calendar.ics";

pub fn tasks(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<dyn TaskList>, Trouble> {
    match &settings.places.accounts.tasks {
        Keeper::Local => {
            let shelf = Arc::new(DataShelf::new(disk, &settings.paths));
            Ok(Arc::new(LocalTasks::new(shelf, settings.paths.root().join(TASKS))))
        }
        Keeper::CalDav(server) => Ok(Arc::new(CalDavTasks::new(server.clone(), Arc::clone(clock))?)),
        Keeper::Google => Ok(Arc::new(account(settings, disk, clock)?)),
        Keeper::Wrong(what) => Err(Trouble::Unconnected(what.clone())),
    }
}

pub fn calendar(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<dyn Calendar>, Trouble> {
    match &settings.places.accounts.calendar {
        Keeper::Local => {
            let shelf = Arc::new(DataShelf::new(disk, &settings.paths));
            let path = settings.paths.root().join(CALENDAR);
            Ok(Arc::new(LocalCalendar::new(shelf, path, Arc::clone(clock))))
        }
        Keeper::CalDav(server) => Ok(Arc::new(CalDavCalendar::new(server.clone(), Arc::clone(clock))?)),
        Keeper::Google => Ok(Arc::new(account(settings, disk, clock)?)),
        Keeper::Wrong(what) => Err(Trouble::Unconnected(what.clone())),
    }
}

pub fn mailbox(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<dyn Mailbox>, Trouble> {
    match &settings.places.accounts.mail {
        Mail::Google => Ok(Arc::new(account(settings, disk, clock)?)),
        Mail::Imap { server, user, password } => {
            let server = server.clone();
            let user = user.clone();
            let password = password.clone();
            Ok(Arc::new(Imap::new(imap::Settings { server, user, password, tls: wire::tls() })))
        }
        Mail::Wrong(what) => Err(Trouble::Unconnected(what.clone())),
    }
}

/// Returns the service of Google that a command needs; `None` if it uses something else.
pub(super) fn google_service(wanted: &Account, settings: &Settings) -> Option<Service> {
    let Accounts { tasks, calendar, mail, .. } = &settings.places.accounts;
    match wanted {
        Account::Tasks { .. } => matches!(tasks, Keeper::Google).then_some(Service::Tasks),
        Account::Cal { .. } => matches!(calendar, Keeper::Google).then_some(Service::Calendar),
        Account::Mail { .. } => matches!(mail, Mail::Google).then_some(Service::Mail),
        Account::Google { .. } => None,
    }
}

/// Makes sure that `service` is granted. Without any mailbox the error names both kinds, IMAP and
/// Gmail.
pub(super) async fn ready(google: &Google, service: Service) -> Result<(), Trouble> {
    match (service, google.connection()?) {
        (Service::Mail, Connection::NoClient) => Err(Trouble::Unconnected(format!(
            "No mailbox is set up. For one that speaks IMAP: `ollim-bot setup mail`. For Gmail: {}",
            google.not_connected()
        ))),
        _ => connecting::ready(google, &[service]).await.map(drop),
    }
}
