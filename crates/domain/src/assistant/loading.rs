//! Skills of jobs: a job whose file names skills starts once they are loaded, because their
//! commands take time.
//!
//! Meanwhile its occurrence is scheduled for a retry, so that it is not lost in a crash.

use std::sync::Arc;

use jiff::{SignedDuration, Zoned};

use super::forking::refused;
use super::{Answer, Assistant, Effect, Minutes};
use crate::context::skills::{Loaded, NamedSkills};
use crate::occurrence::{Key, Occurrence, Stage};
use crate::permission::forbids_program;
use crate::schedule::{Planned, ToolRule, What};
use crate::turn::TurnId;

/// How long to wait for skills before loading them again: twice the time limit of all their
/// commands.
const LOADING: SignedDuration = SignedDuration::from_secs(60);

impl Assistant {
    /// SK-9, SK-11: returns the skills to load before `planned` starts, or `None` if it names none
    /// or no model will read them.
    pub(super) fn wanted(&self, planned: &Arc<Planned>, minutes: &Minutes) -> Option<NamedSkills> {
        let names = match &planned.what {
            What::Routine(routine) => &routine.skills,
            What::Reminder(reminder) => &reminder.skills,
        };
        let unread = self.choices.is_offline() || self.is_away(minutes.at) || self.refusal(minutes).is_some();
        if names.is_empty() || unread {
            return None;
        }
        let tools = planned.charter().terms().map(|terms| terms.tools.clone()).unwrap_or_default();
        Some(NamedSkills { names: names.clone(), tools })
    }

    /// Loads the skills of the occurrence, which starts afterwards.
    pub(super) fn load_first(&mut self, occurrence: Occurrence, wanted: NamedSkills, minutes: &mut Minutes) {
        minutes.loads.push((occurrence.key.clone(), wanted));
        let again = minutes.at.saturating_add(LOADING).unwrap_or(minutes.at);
        self.stands(occurrence, Stage::Again(again), minutes);
    }

    /// Returns whether a skill that `turn` loads may run this program: programs disallowed by the
    /// job's file are disallowed in its skills too.
    pub(super) fn may_run_program(&self, turn: TurnId, words: &[String]) -> (Answer, Vec<Effect>) {
        let run = self.run_of(turn).and_then(|(branch, _)| self.memory.turns.runs.get(&branch));
        if run.is_some_and(|run| forbids_program(&run.terms.tools, words)) {
            refused("the file of this job disallows that command.")
        } else {
            (Answer::Noted, Vec::new())
        }
    }

    /// Starts the occurrence `key` with its loaded skills, unless it was cancelled or started
    /// meanwhile.
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

/// SK-12, BF-4: adds the tools of a run's skills to its allowed tools. Tools forbidden by the file
/// stay forbidden.
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
