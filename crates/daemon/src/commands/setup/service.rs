//! The service that runs it by itself.

use super::asking::Ended;
use super::{Done, Here};
use crate::commands::service::{install, linger, unit};
use crate::service::manager::Manager;
use crate::service::unit::Installed;
use crate::service::{Standing, look};

/// Makes the service, unless it runs: then only its going on after a log-out may be missing.
pub async fn set_up(here: &mut Here) -> Result<Done, Ended> {
    let unit = unit(&here.settings.places.service, &here.settings.paths)?;
    let runs = || Manager.standing().as_ref().is_ok_and(Standing::is_running);
    if unit.installed() == Installed::Ours && runs() {
        linger(Manager);
        let found = look(&here.settings.places.service, &here.settings.paths);
        let rest = found.fix.map_or("nothing to do".to_owned(), |fix| format!("to change that: {fix}"));
        return Ok(Done::works("service", format!("{}. {rest}", found.text)));
    }
    let secrets = here.keeping.only_in_this_shell();
    let done = install(&here.settings, &unit).await?;
    let text = secrets.into_iter().fold(done.text, |text, aside| format!("{text}\n  {aside}"));
    Ok(Done::changed("service", text))
}
