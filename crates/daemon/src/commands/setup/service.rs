//! Setup of the systemd user service.

use super::asking::Ended;
use super::{Done, Here};
use crate::cli::ServiceSetup;
use crate::commands::service::{install, linger, not_anothers, not_seen, unit};
use crate::service::manager::Manager;
use crate::service::unit::Installed;
use crate::service::{Standing, look};
use crate::settings::{kept, log};

/// Installs the service, unless it runs and nothing new is to be stored; then only lingering is
/// enabled.
pub async fn set_up(here: &mut Here, given: ServiceSetup) -> Result<Done, Ended> {
    let settings = &here.settings;
    let keeping = &here.keeping;
    let unit = unit(&settings.places.service, &settings.paths)?;
    not_anothers(&unit)?;
    let only_said = kept::only_said(keeping.environment(), &settings.paths, &settings.brain);
    let news = if given.keep { only_said.as_slice() } else { &[] };
    let runs = Manager.standing().as_ref().is_ok_and(Standing::is_running);
    if unit.installed() == Installed::Ours && runs && news.is_empty() {
        linger(Manager);
        let found = look(&settings.places.service, &settings.paths);
        let rest = found.fix.map_or("nothing to do".to_owned(), |fix| format!("to change that: {fix}"));
        let hint = not_seen(&only_said).map(|hint| format!("\n  {hint}")).unwrap_or_default();
        return Ok(Done::works("service", format!("{}. {rest}{hint}", found.text)));
    }
    // Do not restart a running service with settings that would prevent its start.
    if let Some(refusal) = keeping.settings()?.1.into_iter().next() {
        return Err(refusal.why.into());
    }
    log::read(&keeping.environment().completed()?)?;
    keeping.keep_said(news, &settings.brain)?;
    let done = install(keeping.environment(), settings, &unit).await?;
    let kept = if news.is_empty() { String::new() } else { format!("\n  kept for it: {}", news.join(", ")) };
    Ok(Done::changed("service", format!("{}{kept}", done.text)))
}
