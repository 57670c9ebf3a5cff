//! What a background run is told when it may not reach the human.

use crate::ping_budget::PingBudget;
use crate::schedule::Reporting;

/// BF-21: the job never reaches the human.
pub const PINGS_DISABLED: &str =
    "Error: pings are disabled for this job, urgent ones too. go on without them.";
/// BF-25.
pub const REPORTS_DISABLED: &str = "Error: reports are disabled for this job. go on without them.";
/// A9.
pub const CRITICAL_ALREADY: &str = "Error: this run has sent a critical ping already; one is all there is.";
/// A9.
pub const CRITICAL_EXHAUSTED: &str =
    "Error: the critical pings of today are used up. leave a report instead.";

/// BF-21.
pub fn pinged_already(reporting: Reporting) -> String {
    format!("Error: Already sent 1 ping in this run.{}", instead(reporting))
}

/// BF-21.
pub fn busy(reporting: Reporting) -> String {
    format!(
        "Error: the human is mid-conversation.{} `critical=True` reaches them all the same.",
        instead(reporting)
    )
}

/// BF-21.
pub fn exhausted(budget: &PingBudget, reporting: Reporting) -> String {
    format!("Error: Budget exhausted ({}).{}", budget.tell(), instead(reporting))
}

fn instead(reporting: Reporting) -> &'static str {
    match reporting {
        Reporting::Blocked => "",
        Reporting::Always | Reporting::OnPing | Reporting::Freely => " leave it with `report_updates`.",
    }
}

/// BF-27.
pub fn stop_refused(reporting: Reporting) -> String {
    let _ = reporting;
    "[system] before you stop, call `report_updates` with a summary of what you found or did.".to_owned()
}
