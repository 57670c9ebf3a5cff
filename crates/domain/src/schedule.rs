//! Routines, reminders and webhooks: work that starts without a request from the user.
//!
//! The types are always valid: a routine has a cron expression that parses and run options that do
//! not contradict each other. The journal defines their file format.

mod agenda;
mod allowance;
mod cron;
mod firing_policy;
mod first_step;
mod forward_schedule;
mod future_times;
mod item_id;
mod job_target;
mod moment;
mod planned_job;
mod prompt;
mod recurrence;
mod reminder;
mod report_policy;
mod requested_permissions;
mod routine;
mod run_options;
mod skill;
mod slug;
pub mod template;
mod webhook;

pub use agenda::{
    Agenda, Due, Lateness, MAX_CLOCK_SETBACK, MAX_COUNTED_MISSES, Missed, Plan, Watermark, one_time_rule,
};
pub use allowance::{advertised_tools, allowed_tools, has_only_base_tools};
pub use cron::Cron;
pub use firing_policy::{FiringPolicy, MissedPolicy, OverlapPolicy, PauseState};
pub use first_step::{first_step, generic_step, without_step};
pub use forward_schedule::{
    CandidateRole, MAX_LOOKAHEAD, RECENT_WINDOW, ScheduleCandidate, Tag, UpcomingFire, forward_schedule,
};
pub use item_id::ItemId;
pub use job_target::{IgnoredOptions, InitialContext, JobTarget, Placement};
pub use moment::Moment;
pub(crate) use planned_job::begins_words;
pub use planned_job::{JobFileChange, JobSpec, PlannedJob};
pub use prompt::Prompt;
pub use recurrence::{MonthDay, Recurrence, RecurrenceRule, Zone};
pub use reminder::{Chain, Reminder};
pub use report_policy::{PingPermission, ReportMode, ReportPolicy};
pub use routine::Routine;
pub use run_options::{ModelName, RunOptions, ThinkingOverride, ToolRule};
pub use skill::{SkillSpec, SkillTools};
pub use slug::slug;
pub use webhook::{DEFAULT_MAX_BYTES, MAX_BYTES_LIMIT, WebhookAuth, WebhookIntake, WebhookSpec};

/// An invalid field: its name, the problem, and a valid alternative.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {reason}")]
pub struct InvalidField {
    /// The field name as written in files.
    pub field: &'static str,
    /// The problem and a valid alternative.
    pub reason: String,
}

impl InvalidField {
    pub fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self { field, reason: reason.into() }
    }
}
