//! Skills of jobs: a job whose file names skills starts once they are loaded, because their
//! commands take time.
//!
//! Meanwhile its occurrence is scheduled for a retry, so that it is not lost in a crash.

use std::sync::Arc;

use jiff::{SignedDuration, Zoned};

use super::forks::refusal_reply;
use super::{Answer, Assistant, Effect, Transaction};
use crate::context::skills::{LoadedSkills, NamedSkills};
use crate::occurrence::{Occurrence, OccurrenceKey, OccurrenceState};
use crate::permission::forbids_program;
use crate::schedule::{JobSpec, PlannedJob, ToolRule};
use crate::turn::TurnId;

/// How long to wait for skills before loading them again: twice the time limit of all their
/// commands.
const LOAD_TIMEOUT: SignedDuration = SignedDuration::from_secs(60);

impl Assistant {
    /// SK-9, SK-11: returns the skills to load before `planned` starts, or `None` if it names none
    /// or no model will read them.
    pub(super) fn skills_to_load(&self, planned: &Arc<PlannedJob>, tx: &Transaction) -> Option<NamedSkills> {
        let names = match &planned.spec {
            JobSpec::Routine(routine) => &routine.skills,
            JobSpec::Reminder(reminder) => &reminder.skills,
        };
        let unread = self.choices.is_offline()
            || self.is_model_unreachable(tx.at)
            || self.budget_refusal(tx).is_some();
        if names.is_empty() || unread {
            return None;
        }
        let tools = planned.target().options().map(|terms| terms.tools.clone()).unwrap_or_default();
        Some(NamedSkills { names: names.clone(), tools })
    }

    /// Loads the skills of the occurrence, which starts afterwards.
    pub(super) fn load_skills(&mut self, occurrence: Occurrence, skills: NamedSkills, tx: &mut Transaction) {
        tx.load_skills.push((occurrence.key.clone(), skills));
        let again = tx.at.saturating_add(LOAD_TIMEOUT).unwrap_or(tx.at);
        self.set_stage(occurrence, OccurrenceState::Retrying(again), tx);
    }

    /// Returns whether a skill that `turn` loads may run this program: programs disallowed by the
    /// job's file are disallowed in its skills too.
    pub(super) fn may_run_skill_program(&self, turn: TurnId, words: &[String]) -> (Answer, Vec<Effect>) {
        let run = self.find_turn(turn).and_then(|(branch, _)| self.state.turns.runs.get(&branch));
        if run.is_some_and(|run| forbids_program(&run.terms.tools, words)) {
            refusal_reply("the file of this job disallows that command.")
        } else {
            (Answer::Done, Vec::new())
        }
    }

    /// Starts the occurrence `key` with its loaded skills, unless it was cancelled or started
    /// meanwhile.
    pub(super) fn on_skills_loaded(
        &mut self,
        key: &OccurrenceKey,
        loaded: &LoadedSkills,
        now: &Zoned,
    ) -> Vec<Effect> {
        let mut tx = Transaction::at(now);
        let waits = |occurrence: &&Occurrence| matches!(occurrence.state, OccurrenceState::Retrying(_));
        let waiting = self.state.plans.open.get(key).filter(waits).cloned();
        let Some((planned, occurrence)) = waiting.and_then(|one| Some((self.plan_of(&one)?, one))) else {
            return Vec::new();
        };
        self.start_attempt_with_skills(&planned, occurrence, loaded, &mut tx);
        self.start_next_turn(&mut tx);
        tx.into_effects()
    }
}

/// SK-12, BF-4: adds the tools of a run's skills to its allowed tools. Tools forbidden by the file
/// stay forbidden.
pub(super) fn with_skill_tools(rule: ToolRule, skill_tools: &[String]) -> ToolRule {
    match rule {
        ToolRule::Only(mut listed) => {
            for tool in skill_tools {
                if !listed.contains(tool) {
                    listed.push(tool.clone());
                }
            }
            ToolRule::Only(listed)
        }
        ToolRule::SameAsMain | ToolRule::Except(_) | ToolRule::Intersection(..) => rule,
    }
}
