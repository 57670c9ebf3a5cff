//! Selects the configured backend of the tasks, the calendar and the mailbox.

use std::sync::Arc;

use accounts::AccountError;
use accounts::caldav::{CalDavCalendar, CalDavTasks};
use accounts::calendar::{Calendar, LocalCalendar};
use accounts::google::{ConnectionState, Google, Service};
use accounts::mail::Mailbox;
use accounts::mail::imap::{self, ImapMailbox};
use accounts::tasks::{LocalTaskList, TaskList};
use engine::ports::Clock;
use journal::disk::Disk;

use super::file_store::DataFileStore;
use super::google_sign_in;
use crate::cli::AccountCommand;
use crate::google::account;
use crate::settings::{Accounts, Backend, MailBackend, Settings};

/// Files of the data directory that the user reads and edits.
const TASKS_FILE: &str = "tasks.md";
const CALENDAR_FILE: &str = "calendar.ics";

pub fn tasks(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<dyn TaskList>, AccountError> {
    match &settings.integrations.accounts.tasks {
        Backend::Local => {
            let shelf = Arc::new(DataFileStore::new(disk, &settings.paths));
            Ok(Arc::new(LocalTaskList::new(shelf, settings.paths.root().join(TASKS_FILE))))
        }
        Backend::CalDav(server) => Ok(Arc::new(CalDavTasks::new(server.clone(), Arc::clone(clock))?)),
        Backend::Google => Ok(Arc::new(account(settings, disk, clock)?)),
        Backend::Invalid(what) => Err(AccountError::NotConnected(what.clone())),
    }
}

pub fn calendar(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<dyn Calendar>, AccountError> {
    match &settings.integrations.accounts.calendar {
        Backend::Local => {
            let shelf = Arc::new(DataFileStore::new(disk, &settings.paths));
            let path = settings.paths.root().join(CALENDAR_FILE);
            Ok(Arc::new(LocalCalendar::new(shelf, path, Arc::clone(clock))))
        }
        Backend::CalDav(server) => Ok(Arc::new(CalDavCalendar::new(server.clone(), Arc::clone(clock))?)),
        Backend::Google => Ok(Arc::new(account(settings, disk, clock)?)),
        Backend::Invalid(what) => Err(AccountError::NotConnected(what.clone())),
    }
}

pub fn mailbox(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<dyn Mailbox>, AccountError> {
    match &settings.integrations.accounts.mail {
        MailBackend::Google => Ok(Arc::new(account(settings, disk, clock)?)),
        MailBackend::Imap { server, user, password } => {
            let server = server.clone();
            let user = user.clone();
            let password = password.clone();
            Ok(Arc::new(ImapMailbox::new(imap::ImapSettings {
                server,
                user,
                password,
                tls: wire::tls_config(),
            })))
        }
        MailBackend::Invalid(what) => Err(AccountError::NotConnected(what.clone())),
    }
}

/// Returns the service of Google that a command needs; `None` if it uses something else.
pub(super) fn google_service(command: &AccountCommand, settings: &Settings) -> Option<Service> {
    let Accounts { tasks, calendar, mail, .. } = &settings.integrations.accounts;
    match command {
        AccountCommand::Tasks { .. } => matches!(tasks, Backend::Google).then_some(Service::Tasks),
        AccountCommand::Cal { .. } => matches!(calendar, Backend::Google).then_some(Service::Calendar),
        AccountCommand::Mail { .. } => matches!(mail, MailBackend::Google).then_some(Service::Mail),
        AccountCommand::Google { .. } => None,
    }
}

/// Makes sure that `service` is granted. Without any mailbox the error names both kinds, IMAP and
/// Gmail.
pub(super) async fn ensure_granted(google: &Google, service: Service) -> Result<(), AccountError> {
    match (service, google.connection_state()?) {
        (Service::Mail, ConnectionState::NoClient) => Err(AccountError::NotConnected(format!(
            "No mailbox is set up. For one that speaks IMAP: `ollim-bot setup mail`. For Gmail: {}",
            google.not_connected()
        ))),
        _ => google_sign_in::ensure_granted(google, &[service]).await.map(drop),
    }
}
