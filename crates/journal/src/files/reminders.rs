//! The reminders: `reminders/*.md`.

use domain::phrase::Cue;
use domain::schedule::{Chain, Charter, Invalid, ItemId, Moment, Prompt, Reminder};
use jiff::tz::TimeZone;

use super::items::Item;
use super::job_head::JobHead;
use crate::frontmatter::wire::{self, ReminderKeys, manner_of, terms_of};
use crate::frontmatter::{BadText, Head, Value, read, reminder_keys, split, told, untrue};

impl Item for Reminder {
    const DIRECTORY: &'static str = "reminders";

    fn keys() -> &'static [&'static str] {
        reminder_keys()
    }

    fn read(text: &str, zone: &TimeZone) -> Result<Self, BadText> {
        let split = split(text)?;
        let reminder = checked(read(&split)?, Prompt::new(split.body), zone);
        told(&split, reminder.map_err(|invalid| untrue(&split, invalid))?)
    }

    fn to_text(&self) -> String {
        let terms = self.charter().written_terms();
        let written = self.written_lists();
        let count = |number: u32| (number > 0).then_some(Value::Number(number));
        Head::new()
            .text("id", self.id.as_str(), "")
            .text("run-at", &self.run_at.to_string(), "")
            .with("cue", self.cue.as_ref().map(|cue| Value::Text(cue.to_string())))
            .background(self.charter())
            .with("chain-depth", count(self.chain.depth))
            .with("max-chain", count(self.chain.max))
            .with("chain-parent", self.chain.parent.clone().map(Value::Text))
            .model_and_thinking(terms)
            .isolated(self.charter().knowing())
            .text("description", &self.description, "")
            .voice(terms.voice)
            .tools(&written.tools)
            .skills(&written.skills)
            .manner(&self.manner)
            .above(self.message.as_str())
    }

    fn id(&self) -> &ItemId {
        &self.id
    }

    fn words(&self) -> &str {
        self.message.as_str()
    }
}

fn checked(keys: ReminderKeys, message: Prompt, zone: &TimeZone) -> Result<Reminder, Invalid> {
    let id = wire::id(keys.id)?;
    let run_at = Moment::parse(&wire::required("run-at", keys.run_at)?, zone)?;
    let standing = wire::standing(keys.background);
    let knowing = wire::knowing(keys.isolated);
    let charter = Charter::new(standing, knowing, terms_of!(keys).checked()?);
    let mut reminder = Reminder::new(id, run_at, charter, message)?;
    reminder.cue =
        keys.cue.map(|cue| Cue::parse(&cue)).transpose().map_err(|why| Invalid::new("cue", why))?;
    let depth = keys.chain_depth.unwrap_or(0);
    let max = keys.max_chain.unwrap_or(0);
    reminder.chain = Chain { depth, max, parent: keys.chain_parent };
    reminder.manner = manner_of!(keys).checked(zone)?;
    reminder.description = keys.description.unwrap_or_default();
    reminder.skills = keys.skills.unwrap_or_default();
    Ok(reminder)
}
