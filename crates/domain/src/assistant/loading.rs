//! Loading: a job whose file names skills begins when they are loaded, because their commands take time.
//!
//! Meanwhile its occurrence waits for another try, so that a crash in between loses nothing: the try comes by itself.

use std::sync::Arc;

use jiff::{SignedDuration, Zoned};

use super::{Assistant, Effect, Minutes};
use crate::context::skills::{Loaded, NamedSkills, Outside};
use crate::occurrence::{Key, Occurrence, Stage};
use crate::schedule::{Planned, ToolRule, What};

/// How long skills may take to be loaded before that is tried anew: twice as long as all their commands may take.
const LOADING: SignedDuration = SignedDuration::from_secs(60);

impl Assistant {
    /// SK-9, SK-11: the skills that are loaded before `planned` begins: nothing, if it names none or nobody would read them.
    pub(super) fn wanted(&self, planned: &Arc<Planned>, minutes: &Minutes) -> Option<NamedSkills> {
        let names = match &planned.what {
            What::Routine(routine) => &routine.skills,
            What::Reminder(reminder) => &reminder.skills,
        };
        let unread = self.choices.is_offline() || self.is_away(minutes.at) || self.refusal(minutes).is_some();
        if names.is_empty() || unread {
            return None;
        }
        let outside = match planned.charter().terms() {
            Some(_) => Outside::Told,
            // Main stays clean.
            None => Outside::Withheld,
        };
        Some(NamedSkills { names: names.clone(), outside })
    }

    /// The occurrence begins when its skills are loaded.
    pub(super) fn load_first(&mut self, occurrence: Occurrence, wanted: NamedSkills, minutes: &mut Minutes) {
        minutes.loads.push((occurrence.key.clone(), wanted));
        let again = minutes.at.saturating_add(LOADING).unwrap_or(minutes.at);
        self.stands(occurrence, Stage::Again(again), minutes);
    }

    /// The skills of the occurrence `key` are loaded: it begins, unless it was called off or has begun since.
    pub(super) fn skills_loaded(&mut self, key: &Key, loaded: &Loaded, now: &Zoned) -> Vec<Effect> {
        let mut minutes = Minutes::at(now);
        let waits = |occurrence: &&Occurrence| matches!(occurrence.stage, Stage::Again(_));
        let waiting = self.memory.plans.open.get(key).filter(waits).cloned();
        let Some((planned, occurrence)) = waiting.and_then(|one| Some((self.plan_of(&one)?, one))) else {
            return Vec::new();
        };
        self.try_with(&planned, occurrence, loaded, &mut minutes);
        self.hear_waiting(&mut minutes);
        minutes.effects()
    }
}

/// SK-12, BF-4: what a run may use, with the tools that its skills bring along, each once. What the file forbids stays
/// forbidden.
pub(super) fn with_tools(rule: ToolRule, brought: &[String]) -> ToolRule {
    match rule {
        ToolRule::Only(mut listed) => {
            for tool in brought {
                if !listed.contains(tool) {
                    listed.push(tool.clone());
                }
            }
            ToolRule::Only(listed)
        }
        ToolRule::Usual | ToolRule::Except(_) | ToolRule::Within(..) => rule,
    }
}
