//! Looks up the approvals that a typed answer selects.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::{Approval, ApprovalId, ApprovalOutcome, Approvals, ClosedApproval};

impl Approvals {
    /// Returns the approvals that `selector` selects, or a hint about valid answers. `3` selects
    /// one approval, `all` all of them, `step 3` those of one card, and an empty text the only
    /// card.
    pub fn find(&self, selector: &str, now: &Zoned) -> Result<Vec<Approval>, String> {
        let typed = selector.trim().trim_start_matches('#');
        if typed.is_empty() {
            return self.only_step();
        }
        if typed.eq_ignore_ascii_case("all") && !self.open.is_empty() {
            return Ok(self.open.clone());
        }
        if let Some(step) = typed.strip_prefix("step ").and_then(|step| step.trim().parse().ok()) {
            let found = self.of_step(ApprovalId(step));
            return if found.is_empty() { self.by_number(ApprovalId(step), now) } else { Ok(found) };
        }
        let Ok(number) = typed.parse() else {
            return Err(format!(
                "`{typed}` is no number. say it with the number on the card, such as `/allow 3`."
            ));
        };
        self.by_number(ApprovalId(number), now)
    }

    /// Returns the open approvals of one model step, oldest first.
    pub fn of_step(&self, step: ApprovalId) -> Vec<Approval> {
        self.open.iter().filter(|open| open.step == step).cloned().collect()
    }

    fn by_number(&self, id: ApprovalId, now: &Zoned) -> Result<Vec<Approval>, String> {
        let ApprovalId(number) = id;
        let open = self.open.iter().find(|open| open.id == id).map(|open| vec![open.clone()]);
        open.ok_or_else(|| match self.closed.iter().find(|closed| closed.id == id) {
            Some(closed) => closed_notice(closed, now),
            None if id < self.next_id && number > 0 => {
                format!("approval {number} was closed long ago.{}", self.open_numbers())
            }
            None => format!("there is no approval {number}.{}", self.open_numbers()),
        })
    }

    fn only_step(&self) -> Result<Vec<Approval>, String> {
        match self.open.as_slice() {
            [] => Err("nothing waits for your yes or no.".to_owned()),
            [first, ..] if self.open.iter().all(|open| open.step == first.step) => Ok(self.open.clone()),
            _ => Err(format!("say which one, such as `/allow 3`.{}", self.open_numbers())),
        }
    }

    /// Lists the open approvals as the end of a sentence.
    fn open_numbers(&self) -> String {
        let numbers: Vec<String> = self.open.iter().map(|open| open.id.0.to_string()).collect();
        if numbers.is_empty() {
            " nothing waits for your yes or no.".to_owned()
        } else {
            format!(" these wait for your yes or no: {}.", numbers.join(", "))
        }
    }
}

fn closed_notice(closed: &ClosedApproval, now: &Zoned) -> String {
    let at = short_time(closed.at, now);
    match closed.outcome {
        ApprovalOutcome::Allowed | ApprovalOutcome::Always | ApprovalOutcome::Denied => {
            format!(
                "that was already answered: {} at {at}, on the {}.",
                closed.outcome.as_str(),
                closed.surface.as_str()
            )
        }
        ApprovalOutcome::Cancelled => {
            format!("that was cancelled at {at}, because something else came first. it was not run.")
        }
        ApprovalOutcome::Expired => {
            format!("that expired at {at}: nobody had answered for a day. it was not run.")
        }
    }
}

/// Formats a time of today as a clock time, and others with their date.
fn short_time(at: Timestamp, now: &Zoned) -> String {
    let zone: &TimeZone = now.time_zone();
    let at = at.to_zoned(zone.clone());
    if at.date() == now.date() {
        at.strftime("%H:%M").to_string()
    } else {
        at.strftime("%Y-%m-%d %H:%M").to_string()
    }
}
