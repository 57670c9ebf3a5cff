//! Result of a planning request: the changed plans and new inbox items.

use domain::assistant::{Plans, Replanned};
use domain::cost::Source;
use domain::schedule::{Plan, What};
use jiff::Zoned;
use serde::Serialize;

use crate::web::sessions::moment;

/// The reply and its effect.
#[derive(Serialize)]
pub(super) struct MadeWire {
    ok: bool,
    text: String,
    /// New and changed plans.
    planned: Vec<PlannedWire>,
    /// Ids of new inbox items.
    kept: Vec<u64>,
}

/// A plan.
#[derive(Serialize)]
struct PlannedWire {
    id: String,
    /// `reminder` or `routine`.
    kind: &'static str,
    name: String,
    /// The next time, if there is one.
    at: Option<String>,
}

impl MadeWire {
    /// Creates the result from the reply `text` and the change `made`.
    pub fn new(text: String, (made, plans): (&Replanned, &Plans), now: &Zoned) -> Self {
        let planned = |source: &Source| plans.agenda.get(source).map(|plan| PlannedWire::new(plan, now));
        let kept = made.kept.iter().map(|id| id.0).collect();
        Self { ok: true, text, planned: made.since.iter().filter_map(planned).collect(), kept }
    }
}

impl PlannedWire {
    fn new(plan: &Plan, now: &Zoned) -> Self {
        let kind = match plan.planned.what {
            What::Reminder(_) => "reminder",
            What::Routine(_) => "routine",
        };
        Self {
            id: plan.planned.id().to_string(),
            kind,
            name: plan.planned.name(),
            at: plan.next.map(|at| moment(at, now.time_zone())),
        }
    }
}
