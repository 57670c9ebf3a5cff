//! Standing approvals: created by an "always", listed and revoked by the user, and limited in time.

use jiff::Zoned;
use jiff::tz::TimeZone;

use super::{Answer, Assistant, Effect, Minutes, Record};
use crate::approval::{Approval, ApprovalId, Consent, STANDING, STANDING_FOR, Scope, Standing, Waits, later};
use crate::record::ApprovalChange;

impl Assistant {
    /// I5: creates a standing approval for `approval` if that is permitted, and returns the reply.
    pub(super) fn stand(&mut self, approval: &Approval, minutes: &mut Minutes) -> String {
        let once = |why: &str| format!("allowed, this once: {why}");
        if approval.waits == Waits::Card {
            return "allowed. i do exactly that now, once.".to_owned();
        }
        // A branch that is gone may have held outside text.
        let head = self.memory.conversation.head(&approval.branch);
        if head.is_none_or(|head| head.label.is_tainted()) {
            return once("there are words from outside here, so i go on asking.");
        }
        let tool = approval.call.name.clone();
        let scope = Scope::of(&approval.call);
        let standing = Standing { id: approval.id, tool, scope, until: later(minutes.at, STANDING_FOR) };
        let always = &mut self.memory.approvals.consent.always;
        always.retain(|known| !(known.tool == standing.tool && known.scope == standing.scope));
        if always.len() >= STANDING {
            return once(
                "more is always allowed already than i keep. take something back with /revoke first.",
            );
        }
        always.push(standing.clone());
        let told = format!(
            "allowed, and so is the same until {}: {standing}. `/revoke {}` takes it back.",
            day(&standing, &minutes.zone),
            standing.id.0
        );
        minutes.records.push(Record::Approval(ApprovalChange::Stands(standing)));
        told
    }

    /// Revokes a standing approval, or lists all.
    pub(super) fn revoke(&mut self, typed: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut minutes = Minutes::at(now);
        self.end_standing(|standing| standing.until <= now.timestamp(), &mut minutes);
        let all = self.memory.approvals.consent.tell(now);
        let all = all.unwrap_or_else(|| "nothing is always allowed.".to_owned());
        let typed = typed.trim().trim_start_matches('#');
        let answer = match typed.parse().map(ApprovalId) {
            _ if typed.is_empty() => Answer::Told(all),
            Err(_) => Answer::Refused(format!("`{typed}` is no number. {all}")),
            Ok(id) => match self.memory.approvals.consent.always.iter().find(|standing| standing.id == id) {
                None => Answer::Refused(format!("there is no number {typed} among them. {all}")),
                Some(standing) => {
                    let told = format!("from now on i ask again: {standing}.");
                    self.end_standing(|standing| standing.id == id, &mut minutes);
                    Answer::Told(told)
                }
            },
        };
        (answer, minutes.effects())
    }

    /// Ends the matching standing approvals.
    pub(super) fn end_standing(&mut self, which: impl Fn(&Standing) -> bool, minutes: &mut Minutes) {
        let at = minutes.at;
        let ended = self.memory.approvals.consent.always.extract_if(.., |standing| which(standing));
        let withdrawn = |standing: Standing| Record::Approval(ApprovalChange::Withdrawn(standing.id, at));
        minutes.records.extend(ended.map(withdrawn));
    }
}

impl Consent {
    /// Returns a list of the standing approvals at `now`, or `None` if there are none.
    pub fn tell(&self, now: &Zoned) -> Option<String> {
        let line = |standing: &Standing| {
            let id = standing.id.0;
            let day = day(standing, now.time_zone());
            format!("{id}: {standing}, until {day}")
        };
        let holds = self.always.iter().filter(|standing| standing.until > now.timestamp());
        let lines: Vec<String> = holds.map(line).collect();
        let told = format!("always allowed, where no words from outside are:\n{}\n", lines.join("\n"));
        (!lines.is_empty()).then(|| format!("{told}`/revoke` and a number takes one back."))
    }
}

fn day(standing: &Standing, zone: &TimeZone) -> String {
    standing.until.to_zoned(zone.clone()).strftime("%-d %b %Y").to_string().to_lowercase()
}
