//! The service that runs it by itself.

use super::asking::Ended;
use super::{Done, Here};
use crate::checkup::State;
use crate::commands::service::install;
use crate::exit::Failed;
use crate::service::look;
use crate::service::unit::Unit;

/// Makes the service, unless it runs.
pub async fn set_up(here: &mut Here) -> Result<Done, Ended> {
    let found = look(&here.settings);
    if found.state == State::Fine {
        return Ok(Done::works("service", format!("{}. nothing to do", found.text)));
    }
    let unit = Unit::of(&here.settings).ok_or_else(|| {
        Failed::Configuration("HOME is not set, so there is no place for a service. set it.".to_owned())
    })?;
    let secrets = here.keeping.only_in_this_shell();
    let done = install(&here.settings, &unit).await?;
    let text = secrets.into_iter().fold(done.text, |text, aside| format!("{text}\n  {aside}"));
    Ok(Done::changed("service", text))
}
