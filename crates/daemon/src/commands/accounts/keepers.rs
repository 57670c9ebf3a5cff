//! Who keeps the tasks and the calendar, as the settings say.

use std::sync::Arc;

use accounts::Trouble;
use accounts::caldav::{CalDavCalendar, CalDavTasks};
use accounts::calendar::{Calendar, LocalCalendar};
use accounts::tasks::{LocalTasks, TaskList};
use engine::ports::Clock;
use journal::disk::Disk;

use super::shelf::DataShelf;
use crate::settings::{Keeper, Settings};

/// The files of the data directory that people read and edit.
const TASKS: &str = "tasks.md";
const CALENDAR: &str = "calendar.ics";

/// The tasks.
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
        Keeper::Google => Err(unconnected()),
        Keeper::Wrong(what) => Err(Trouble::Unconnected(what.clone())),
    }
}

/// The calendar.
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
        Keeper::Google => Err(unconnected()),
        Keeper::Wrong(what) => Err(Trouble::Unconnected(what.clone())),
    }
}

fn unconnected() -> Trouble {
    let files = "set OLLIM_TASKS=local and OLLIM_CALENDAR=local to use files.";
    Trouble::Unconnected(format!("google is not connected. {files}"))
}
