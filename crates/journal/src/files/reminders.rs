//! The reminders: `reminders/*.md`.

use domain::phrase::Cue;
use domain::schedule::{Chain, InvalidField, ItemId, JobTarget, Moment, Prompt, Reminder};
use jiff::tz::TimeZone;

use super::items::Item;
use super::job_keys::WriteJobKeys;
use crate::frontmatter::wire::{self, ReminderKeys, manner_of, terms_of};
use crate::frontmatter::{
    BadText, FrontmatterBuilder, Value, invalid_value, read, reminder_keys, require_body, split,
};

impl Item for Reminder {
    const DIRECTORY: &'static str = "reminders";

    fn keys() -> &'static [&'static str] {
        reminder_keys()
    }

    fn read(text: &str, zone: &TimeZone) -> Result<Self, BadText> {
        let split = split(text)?;
        let reminder = build_reminder(read(&split)?, Prompt::new(split.body), zone);
        require_body(&split, reminder.map_err(|invalid| invalid_value(&split, invalid))?)
    }

    fn to_text(&self) -> String {
        let terms = self.target().written_options();
        let written = self.written_lists();
        let count = |number: u32| (number > 0).then_some(Value::Number(number));
        FrontmatterBuilder::new()
            .text("id", self.id.as_str(), "")
            .text("run-at", &self.run_at.to_string(), "")
            .with("cue", self.cue.as_ref().map(|cue| Value::Text(cue.to_string())))
            .background(self.target())
            .with("chain-depth", count(self.chain.depth))
            .with("max-chain", count(self.chain.max))
            .with("chain-parent", self.chain.parent.clone().map(Value::Text))
            .model_and_thinking(terms)
            .isolated(self.target().context())
            .text("description", &self.description, "")
            .report_policy(terms.report_policy)
            .tools(&written.tools)
            .skills(&written.skills)
            .missed_policy(&self.firing_policy)
            .with_body(self.prompt.as_str())
    }

    fn id(&self) -> &ItemId {
        &self.id
    }

    fn naming_text(&self) -> &str {
        self.prompt.as_str()
    }
}

fn build_reminder(keys: ReminderKeys, message: Prompt, zone: &TimeZone) -> Result<Reminder, InvalidField> {
    let id = wire::id(keys.id)?;
    let run_at = Moment::parse(&wire::required("run-at", keys.run_at)?, zone)?;
    let standing = wire::execution(keys.background);
    let knowing = wire::isolation(keys.isolated);
    let charter = JobTarget::new(standing, knowing, terms_of!(keys).checked()?);
    let mut reminder = Reminder::new(id, run_at, charter, message)?;
    reminder.cue =
        keys.cue.map(|cue| Cue::parse(&cue)).transpose().map_err(|why| InvalidField::new("cue", why))?;
    let depth = keys.chain_depth.unwrap_or(0);
    let max = keys.max_chain.unwrap_or(0);
    reminder.chain = Chain { depth, max, parent: keys.chain_parent };
    reminder.firing_policy = manner_of!(keys).checked(zone)?;
    reminder.description = keys.description.unwrap_or_default();
    reminder.skills = keys.skills.unwrap_or_default();
    Ok(reminder)
}
