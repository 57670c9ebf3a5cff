//! Looks up the approvals that a typed answer selects.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::{Approval, ApprovalId, Approvals, Closed, How};

impl Approvals {
    /// Returns the approvals that `selector` selects, or a hint about valid answers. `3` selects
    /// one approval, `all` all of them, `step 3` those of one card, and an empty text the only
    /// card.
    pub fn find(&self, which: &str, now: &Zoned) -> Result<Vec<Approval>, String> {
        let typed = which.trim().trim_start_matches('#');
        if typed.is_empty() {
            return self.only();
        }
        if typed.eq_ignore_ascii_case("all") && !self.open.is_empty() {
            return Ok(self.open.clone());
        }
        if let Some(step) = typed.strip_prefix("step ").and_then(|step| step.trim().parse().ok()) {
            let found = self.of_step(ApprovalId(step));
            return if found.is_empty() { self.one(ApprovalId(step), now) } else { Ok(found) };
        }
        let Ok(number) = typed.parse() else {
            return Err(format!(
                "`{typed}` is no number. say it with the number on the card, such as `/allow 3`."
            ));
        };
        self.one(ApprovalId(number), now)
    }

    /// Returns the open approvals of one model step, oldest first.
    pub fn of_step(&self, step: ApprovalId) -> Vec<Approval> {
        self.open.iter().filter(|open| open.step == step).cloned().collect()
    }

    fn one(&self, id: ApprovalId, now: &Zoned) -> Result<Vec<Approval>, String> {
        let ApprovalId(number) = id;
        let open = self.open.iter().find(|open| open.id == id).map(|open| vec![open.clone()]);
        open.ok_or_else(|| match self.closed.iter().find(|closed| closed.id == id) {
            Some(closed) => answered(closed, now),
            None if id < self.next && number > 0 => {
                format!("approval {number} was closed long ago.{}", self.waiting())
            }
            None => format!("there is no approval {number}.{}", self.waiting()),
        })
    }

    fn only(&self) -> Result<Vec<Approval>, String> {
        match self.open.as_slice() {
            [] => Err("nothing waits for your yes or no.".to_owned()),
            [first, ..] if self.open.iter().all(|open| open.step == first.step) => Ok(self.open.clone()),
            _ => Err(format!("say which one, such as `/allow 3`.{}", self.waiting())),
        }
    }

    /// Lists the open approvals as the end of a sentence.
    fn waiting(&self) -> String {
        let numbers: Vec<String> = self.open.iter().map(|open| open.id.0.to_string()).collect();
        if numbers.is_empty() {
            " nothing waits for your yes or no.".to_owned()
        } else {
            format!(" these wait for your yes or no: {}.", numbers.join(", "))
        }
    }
}

fn answered(closed: &Closed, now: &Zoned) -> String {
    let at = clock(closed.at, now);
    match closed.how {
        How::Allowed | How::Always | How::Denied => {
            format!(
                "that was already answered: {} at {at}, on the {}.",
                closed.how.as_str(),
                closed.by.as_str()
            )
        }
        How::Cancelled => {
            format!("that was cancelled at {at}, because something else came first. it was not run.")
        }
        How::Expired => format!("that expired at {at}: nobody had answered for a day. it was not run."),
    }
}

/// Formats a time of today as a clock time, and others with their date.
fn clock(at: Timestamp, now: &Zoned) -> String {
    let zone: &TimeZone = now.time_zone();
    let at = at.to_zoned(zone.clone());
    if at.date() == now.date() {
        at.strftime("%H:%M").to_string()
    } else {
        at.strftime("%Y-%m-%d %H:%M").to_string()
    }
}
