//! Routines, reminders and webhooks: work that starts without a request from the user.
//!
//! The types are always valid: a routine has a cron expression that parses and run options that do
//! not contradict each other. The journal defines their file format.

mod agenda;
mod ahead;
mod allowance;
mod asking;
mod charter;
mod cron;
mod forward;
mod item_id;
mod manner;
mod moment;
mod planned;
mod prompt;
mod reminder;
mod rhythm;
mod routine;
mod skill;
mod slug;
mod step;
pub mod template;
mod terms;
mod voice;
mod webhook;

pub use agenda::{Accounted, Agenda, COUNTED, Due, Lateness, Missed, Plan, SET_BACK, once};
pub use allowance::{allowance, as_told, declares_nothing};
pub use charter::{Charter, Knowing, Standing, Unused};
pub use cron::Cron;
pub use forward::{Candidate, FAR, GRACE, Role, Tag, Upcoming, forward};
pub use item_id::ItemId;
pub use manner::{IfMissed, Manner, Overlap, Rest};
pub use moment::Moment;
pub(crate) use planned::begins_words;
pub use planned::{FileNews, Planned, What};
pub use prompt::Prompt;
pub use reminder::{Chain, Reminder};
pub use rhythm::{Beat, MonthDay, Rhythm, Zone};
pub use routine::Routine;
pub use skill::{SkillSpec, SkillTools};
pub use slug::slug;
pub use step::{any_step, first_step, without_step};
pub use terms::{ModelName, Terms, Thinking, ToolRule};
pub use voice::{Pings, Reporting, Voice};
pub use webhook::{BYTES, Entrance, MOST_BYTES, Proof, WebhookSpec};

/// An invalid field: its name, the problem, and a valid alternative.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {reason}")]
pub struct Invalid {
    /// The field name as written in files.
    pub field: &'static str,
    /// The problem and a valid alternative.
    pub reason: String,
}

impl Invalid {
    pub fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self { field, reason: reason.into() }
    }
}
