//! Routines, reminders and webhooks: what runs without being asked.
//!
//! These are values that can only be made whole: a routine that exists has a cron that reads and a charter
//! that does not contradict itself. How they are spelled in a file is the journal's business.

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

/// Why something cannot be what was asked for: the field, what is wrong with it, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {reason}")]
pub struct Invalid {
    /// The field as people write it.
    pub field: &'static str,
    /// What is wrong and what would be right.
    pub reason: String,
}

impl Invalid {
    /// Says why `field` cannot stay as it is.
    pub fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self { field, reason: reason.into() }
    }
}
