//! What words came to, for programs: what is planned since, and what is kept.

use domain::assistant::{Plans, Replanned};
use domain::cost::Source;
use domain::schedule::{Plan, What};
use jiff::Zoned;
use serde::Serialize;

use crate::web::sessions::moment;

/// What was told, and what it is about.
#[derive(Serialize)]
pub(super) struct MadeWire {
    ok: bool,
    text: String,
    /// What is planned since, or otherwise.
    planned: Vec<PlannedWire>,
    /// The numbers of what is in the inbox since.
    kept: Vec<u64>,
}

/// Something that is planned.
#[derive(Serialize)]
struct PlannedWire {
    id: String,
    /// `reminder` or `routine`.
    kind: &'static str,
    name: String,
    /// When it comes next; nothing, if it waits for something else.
    at: Option<String>,
}

impl MadeWire {
    /// What `text` tells, with what was `made`, as it is planned now.
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
