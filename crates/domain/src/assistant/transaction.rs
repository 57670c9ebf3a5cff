//! The output of one decision, and the order of its effects.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::{Effect, TurnStart, Update};
use crate::approval::{Approval, ApprovalId};
use crate::context::skills::NamedSkills;
use crate::conversation::Usage;
use crate::occurrence::OccurrenceKey;
use crate::permission::Decision;
use crate::record::{Record, TurnChange, TurnClosed};
use crate::tool::ToolResult;
use crate::turn::{TurnEnding, TurnId};

/// Collects the records, updates and actions of one decision.
#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) at: Timestamp,
    pub(super) zone: TimeZone,
    pub(super) records: Vec<Record>,
    pub(super) updates: Vec<Update>,
    /// Decisions for turns that wait for an approval.
    pub(super) decisions: Vec<(TurnId, ApprovalId, Decision)>,
    /// Results of delegated calls for the waiting turns.
    pub(super) results: Vec<(TurnId, ToolResult)>,
    /// Calls to carry out because their card was approved.
    pub(super) carry_out: Vec<Approval>,
    /// Skills to load for occurrences.
    pub(super) load_skills: Vec<(OccurrenceKey, NamedSkills)>,
    pub(super) starts: Vec<TurnStart>,
    /// Interruptions and prioritizations of active turns.
    pub(super) turn_commands: Vec<Effect>,
}

impl Transaction {
    pub(super) fn at(now: &Zoned) -> Self {
        let at = now.timestamp();
        let zone = now.time_zone().clone();
        let records = Vec::new();
        let updates = Vec::new();
        let decisions = Vec::new();
        let results = Vec::new();
        let carry_out = Vec::new();
        let load_skills = Vec::new();
        let starts = Vec::new();
        let turn_commands = Vec::new();
        Self { at, zone, records, updates, decisions, results, carry_out, load_skills, starts, turn_commands }
    }

    pub(super) fn close_turn(&mut self, turn: TurnId, ending: TurnEnding, usage: Usage) {
        self.records.push(Record::Turn(TurnChange::Closed(TurnClosed { turn, ending, usage, at: self.at })));
    }

    /// Returns the effects in order: one write, so that a failed write leaves nothing half done;
    /// then updates, decisions and results for waiting turns, new turns, and commands to active
    /// turns.
    pub(super) fn into_effects(self) -> Vec<Effect> {
        let written = (!self.records.is_empty()).then_some(Effect::Write(self.records));
        let updates = self.updates.into_iter().map(Effect::Show);
        let decisions =
            self.decisions.into_iter().map(|(turn, id, decision)| Effect::Decide(turn, id, decision));
        written
            .into_iter()
            .chain(updates)
            .chain(decisions)
            .chain(self.results.into_iter().map(|(turn, result)| Effect::ReturnResult(turn, result)))
            .chain(self.carry_out.into_iter().map(Effect::CarryOut))
            .chain(self.load_skills.into_iter().map(|(key, wanted)| Effect::LoadSkills(key, wanted)))
            .chain(self.starts.into_iter().map(Effect::StartTurn))
            .chain(self.turn_commands)
            .collect()
    }
}
