//! Standing approvals: created by an "always", listed and revoked by the user, and limited in time.

use jiff::Zoned;
use jiff::tz::TimeZone;

use super::{Answer, Assistant, Effect, Record, Transaction};
use crate::approval::{
    Approval, ApprovalId, Consent, MAX_STANDING, STANDING_DURATION, Scope, StandingApproval, Waiter,
    saturating_later,
};
use crate::record::ApprovalChange;

impl Assistant {
    /// I5: creates a standing approval for `approval` if that is permitted, and returns the reply.
    pub(super) fn add_standing(&mut self, approval: &Approval, tx: &mut Transaction) -> String {
        let allowed_once = |why: &str| format!("allowed, this once: {why}");
        if approval.waiter == Waiter::Card {
            return "allowed. i do exactly that now, once.".to_owned();
        }
        // A branch that is gone may have held outside text.
        let head = self.state.conversation.head(&approval.branch);
        if head.is_none_or(|head| head.label.is_tainted()) {
            return allowed_once("there are words from outside here, so i go on asking.");
        }
        let tool = approval.call.name.clone();
        let scope = Scope::of(&approval.call);
        let standing = StandingApproval {
            id: approval.id,
            tool,
            scope,
            expires_at: saturating_later(tx.at, STANDING_DURATION),
        };
        let always = &mut self.state.approvals.consent.standing;
        always.retain(|known| !(known.tool == standing.tool && known.scope == standing.scope));
        if always.len() >= MAX_STANDING {
            return allowed_once(
                "more is always allowed already than i keep. take something back with /revoke first.",
            );
        }
        always.push(standing.clone());
        let reply = format!(
            "allowed, and so is the same until {}: {standing}. `/revoke {}` takes it back.",
            expiry_date(&standing, &tx.zone),
            standing.id.0
        );
        tx.records.push(Record::Approval(ApprovalChange::StandingAdded(standing)));
        reply
    }

    /// Revokes a standing approval, or lists all.
    pub(super) fn revoke_standing(&mut self, typed: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut tx = Transaction::at(now);
        self.end_standing(|standing| standing.expires_at <= now.timestamp(), &mut tx);
        let all = self.state.approvals.consent.standing_summary(now);
        let all = all.unwrap_or_else(|| "nothing is always allowed.".to_owned());
        let typed = typed.trim().trim_start_matches('#');
        let answer = match typed.parse().map(ApprovalId) {
            _ if typed.is_empty() => Answer::Text(all),
            Err(_) => Answer::Refused(format!("`{typed}` is no number. {all}")),
            Ok(id) => match self.state.approvals.consent.standing.iter().find(|standing| standing.id == id) {
                None => Answer::Refused(format!("there is no number {typed} among them. {all}")),
                Some(standing) => {
                    let reply = format!("from now on i ask again: {standing}.");
                    self.end_standing(|standing| standing.id == id, &mut tx);
                    Answer::Text(reply)
                }
            },
        };
        (answer, tx.into_effects())
    }

    /// Ends the matching standing approvals.
    pub(super) fn end_standing(&mut self, which: impl Fn(&StandingApproval) -> bool, tx: &mut Transaction) {
        let at = tx.at;
        let ended = self.state.approvals.consent.standing.extract_if(.., |standing| which(standing));
        let withdrawn =
            |standing: StandingApproval| Record::Approval(ApprovalChange::StandingEnded(standing.id, at));
        tx.records.extend(ended.map(withdrawn));
    }
}

impl Consent {
    /// Returns a list of the standing approvals at `now`, or `None` if there are none.
    pub fn standing_summary(&self, now: &Zoned) -> Option<String> {
        let line = |standing: &StandingApproval| {
            let id = standing.id.0;
            let day = expiry_date(standing, now.time_zone());
            format!("{id}: {standing}, until {day}")
        };
        let holds = self.standing.iter().filter(|standing| standing.expires_at > now.timestamp());
        let lines: Vec<String> = holds.map(line).collect();
        let heading = format!("always allowed, where no words from outside are:\n{}\n", lines.join("\n"));
        (!lines.is_empty()).then(|| format!("{heading}`/revoke` and a number takes one back."))
    }
}

fn expiry_date(standing: &StandingApproval, zone: &TimeZone) -> String {
    standing.expires_at.to_zoned(zone.clone()).strftime("%-d %b %Y").to_string().to_lowercase()
}
