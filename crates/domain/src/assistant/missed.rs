//! Missed times: occurrences that were due while the daemon was down and are too late to run.

use super::{Assistant, Transaction, Update};
use crate::attention::{DeferReason, MISSED_HEADING};
use crate::cost::CostSource;
use crate::label::Label;
use crate::schedule::Missed;

/// How many plans are listed by name.
const MAX_LISTED: usize = 10;

/// A plan with missed times.
pub(super) struct MissedPlan {
    pub(super) source: CostSource,
    /// Display name.
    pub(super) name: String,
    pub(super) times: Missed,
}

impl Assistant {
    /// Shows the missed times at once, or defers them to the digest if the user is only reachable
    /// by messages.
    pub(super) fn notify_missed(&mut self, missed: &[MissedPlan], tx: &mut Transaction) {
        let now = tx.at.to_zoned(tx.zone.clone());
        let has_digests = !self.state.choices.settings.notifications.digests.0.is_empty();
        match missed {
            [] => {}
            [..] if has_digests && self.outbox.is_by_messages_only(&now) => self.defer_missed(missed, tx),
            [..] => tx.updates.push(Update::Notice(missed_notice(missed, tx))),
        }
    }

    fn defer_missed(&mut self, missed: &[MissedPlan], tx: &mut Transaction) {
        for plan in missed.iter().take(MAX_LISTED) {
            let text = (missed_times_text(plan, tx), Label::PLAIN);
            let sender = (plan.source.clone(), plan.name.clone());
            self.defer_message(sender, text, DeferReason::Missed, tx);
        }
        if let Some(plan) = missed.get(MAX_LISTED) {
            let text = (format!("and {} more", missed.len() - MAX_LISTED), Label::PLAIN);
            self.defer_message((plan.source.clone(), "others".to_owned()), text, DeferReason::Missed, tx);
        }
    }
}

/// Returns a short text about the missed times of one plan.
fn missed_times_text(MissedPlan { times, .. }: &MissedPlan, minutes: &Transaction) -> String {
    let last = times.last.to_zoned(minutes.zone.clone()).strftime("%a %-d %b %H:%M").to_string();
    match times.count {
        1 => last.to_lowercase(),
        count => format!("{count} times, last {}", last.to_lowercase()),
    }
}

/// Returns the notice that lists all missed times.
fn missed_notice(missed: &[MissedPlan], tx: &Transaction) -> String {
    let line = |passed: &MissedPlan| format!("- {}: {}", passed.name, missed_times_text(passed, tx));
    let mut lines: Vec<String> = missed.iter().take(MAX_LISTED).map(line).collect();
    if missed.len() > MAX_LISTED {
        lines.push(format!("- and {} more", missed.len() - MAX_LISTED));
    }
    format!("{MISSED_HEADING}:\n{}", lines.join("\n"))
}
