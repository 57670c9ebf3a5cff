//! Setup of the systemd user service.

use super::prompt::SectionError;
use super::{SectionResult, SetupContext};
use crate::cli::ServiceSetup;
use crate::commands::service::{check_owner, enable_linger, install, unit, unseen_variables_hint};
use crate::service::manager::Manager;
use crate::service::unit::Installation;
use crate::service::{ServiceStatus, check};
use crate::settings::{log, stored_environment};

/// Installs the service, unless it runs and nothing new is to be stored; then only lingering is
/// enabled.
pub async fn set_up(here: &mut SetupContext, given: ServiceSetup) -> Result<SectionResult, SectionError> {
    let settings = &here.settings;
    let keeping = &here.store;
    let unit = unit(&settings.integrations.service, &settings.paths)?;
    check_owner(&unit)?;
    let only_said =
        stored_environment::unstored_variables(keeping.environment(), &settings.paths, &settings.model);
    let news = if given.keep { only_said.as_slice() } else { &[] };
    let runs = Manager.status().as_ref().is_ok_and(ServiceStatus::is_running);
    if unit.installation() == Installation::Ours && runs && news.is_empty() {
        enable_linger(Manager);
        let found = check(&settings.integrations.service, &settings.paths);
        let rest = found.fix.map_or("nothing to do".to_owned(), |fix| format!("to change that: {fix}"));
        let hint = unseen_variables_hint(&only_said).map(|hint| format!("\n  {hint}")).unwrap_or_default();
        return Ok(SectionResult::unchanged("service", format!("{}. {rest}{hint}", found.text)));
    }
    // Do not restart a running service with settings that would prevent its start.
    if let Some(refusal) = keeping.settings()?.1.into_iter().next() {
        return Err(refusal.why.into());
    }
    log::read(&keeping.environment().with_stored()?)?;
    keeping.save_shell_values(news, &settings.model)?;
    let done = install(keeping.environment(), settings, &unit).await?;
    let kept = if news.is_empty() { String::new() } else { format!("\n  kept for it: {}", news.join(", ")) };
    Ok(SectionResult::changed("service", format!("{}{kept}", done.text)))
}
