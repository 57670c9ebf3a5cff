//! The routines: `routines/*.md`.

use domain::schedule::{Charter, Invalid, ItemId, Prompt, Routine};
use jiff::tz::TimeZone;

use super::items::Item;
use super::job_head::JobHead;
use super::rhythm::{RhythmHead, rhythm_of};
use crate::frontmatter::wire::{self, RoutineKeys, manner_of, terms_of};
use crate::frontmatter::{BadText, Head, read, routine_keys, split, told, untrue};

impl Item for Routine {
    const DIRECTORY: &'static str = "routines";

    fn keys() -> &'static [&'static str] {
        routine_keys()
    }

    fn read(text: &str, zone: &TimeZone) -> Result<Self, BadText> {
        let split = split(text)?;
        let routine = checked(read(&split)?, Prompt::new(split.body), zone);
        told(&split, routine.map_err(|invalid| untrue(&split, invalid))?)
    }

    fn to_text(&self) -> String {
        let terms = self.charter.written_terms();
        let session = matches!(self.charter, Charter::Persistent(_)).then_some("persistent");
        Head::new()
            .text("id", self.id.as_str(), "")
            .rhythm(&self.rhythm)
            .background(&self.charter)
            .model_and_thinking(terms)
            .isolated(self.charter.knowing())
            .text("description", &self.description, "")
            .voice(terms.voice)
            .tools(&terms.tools)
            .skills(&self.skills)
            .text("session", session.unwrap_or_default(), "")
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

fn checked(keys: RoutineKeys, message: Prompt, zone: &TimeZone) -> Result<Routine, Invalid> {
    let id = wire::id(keys.id)?;
    let rhythm = rhythm_of!(keys).checked()?;
    let standing = wire::standing(keys.background);
    let knowing = wire::knowing(keys.isolated);
    let charter = Charter::new(standing, knowing, terms_of!(keys).checked()?);
    let charter = match keys.session {
        Some(session) => charter.with_session(&session)?,
        None => charter,
    };
    let manner = manner_of!(keys).checked(zone)?;
    let description = keys.description.unwrap_or_default();
    let skills = keys.skills.unwrap_or_default();
    Ok(Routine { id, rhythm, charter, manner, description, skills, message })
}
