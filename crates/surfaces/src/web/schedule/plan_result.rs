//! Result of a planning request: the changed plans and new inbox items.

use domain::assistant::{Plans, Replanned};
use domain::cost::CostSource;
use domain::schedule::{JobSpec, Plan};
use jiff::Zoned;
use serde::Serialize;

use crate::web::sessions::format_time;

/// The reply and its effect.
#[derive(Serialize)]
pub(super) struct PlanResultDto {
    ok: bool,
    text: String,
    /// New and changed plans.
    planned: Vec<PlannedDto>,
    /// Ids of new inbox items.
    kept: Vec<u64>,
}

/// A plan.
#[derive(Serialize)]
struct PlannedDto {
    id: String,
    /// `reminder` or `routine`.
    kind: &'static str,
    name: String,
    /// The next time, if there is one.
    at: Option<String>,
}

impl PlanResultDto {
    /// Creates the result from the reply `text` and the change `made`.
    pub fn new(text: String, (made, plans): (&Replanned, &Plans), now: &Zoned) -> Self {
        let planned = |source: &CostSource| plans.agenda.get(source).map(|plan| PlannedDto::new(plan, now));
        let kept = made.added_items.iter().map(|id| id.0).collect();
        Self { ok: true, text, planned: made.new_plans.iter().filter_map(planned).collect(), kept }
    }
}

impl PlannedDto {
    fn new(plan: &Plan, now: &Zoned) -> Self {
        let kind = match plan.job.spec {
            JobSpec::Reminder(_) => "reminder",
            JobSpec::Routine(_) => "routine",
        };
        Self {
            id: plan.job.id().to_string(),
            kind,
            name: plan.job.display_name(),
            at: plan.next.map(|at| format_time(at, now.time_zone())),
        }
    }
}
