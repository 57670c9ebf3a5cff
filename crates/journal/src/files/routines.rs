//! The routines: `routines/*.md`.

use domain::schedule::{InvalidField, ItemId, JobTarget, Prompt, Routine};
use jiff::tz::TimeZone;

use super::items::Item;
use super::job_keys::WriteJobKeys;
use super::rhythm::{WriteRhythmKeys, rhythm_of};
use crate::frontmatter::wire::{self, RoutineKeys, manner_of, terms_of};
use crate::frontmatter::{
    BadText, FrontmatterBuilder, invalid_value, read, require_body, routine_keys, split,
};

impl Item for Routine {
    const DIRECTORY: &'static str = "routines";

    fn keys() -> &'static [&'static str] {
        routine_keys()
    }

    fn read(text: &str, zone: &TimeZone) -> Result<Self, BadText> {
        let split = split(text)?;
        let routine = build_routine(read(&split)?, Prompt::new(split.body), zone);
        require_body(&split, routine.map_err(|invalid| invalid_value(&split, invalid))?)
    }

    fn to_text(&self) -> String {
        let terms = self.target.written_options();
        let session = matches!(self.target, JobTarget::Persistent(_)).then_some("persistent");
        FrontmatterBuilder::new()
            .text("id", self.id.as_str(), "")
            .rhythm(&self.recurrence)
            .background(&self.target)
            .model_and_thinking(terms)
            .isolated(self.target.context())
            .text("description", &self.description, "")
            .report_policy(terms.report_policy)
            .tools(&terms.tools)
            .skills(&self.skills)
            .text("session", session.unwrap_or_default(), "")
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

fn build_routine(keys: RoutineKeys, message: Prompt, zone: &TimeZone) -> Result<Routine, InvalidField> {
    let id = wire::id(keys.id)?;
    let rhythm = rhythm_of!(keys).checked()?;
    let standing = wire::execution(keys.background);
    let knowing = wire::isolation(keys.isolated);
    let charter = JobTarget::new(standing, knowing, terms_of!(keys).checked()?);
    let charter = match keys.session {
        Some(session) => charter.with_session(&session)?,
        None => charter,
    };
    let manner = manner_of!(keys).checked(zone)?;
    let description = keys.description.unwrap_or_default();
    let skills = keys.skills.unwrap_or_default();
    Ok(Routine {
        id,
        recurrence: rhythm,
        target: charter,
        firing_policy: manner,
        description,
        skills,
        prompt: message,
    })
}
