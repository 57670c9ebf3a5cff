//! The output of one decision, and the order of its effects.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::{Effect, Shown, Start};
use crate::approval::{Approval, ApprovalId};
use crate::context::skills::NamedSkills;
use crate::conversation::Usage;
use crate::occurrence::Key;
use crate::permission::Decision;
use crate::record::{Closed, Record, TurnChange};
use crate::tool::ToolResult;
use crate::turn::{Ending, TurnId};

/// Collects the records, updates and actions of one decision.
#[derive(Debug)]
pub(super) struct Minutes {
    pub(super) at: Timestamp,
    pub(super) zone: TimeZone,
    pub(super) records: Vec<Record>,
    pub(super) shown: Vec<Shown>,
    /// Decisions for turns that wait for an approval.
    pub(super) decided: Vec<(TurnId, ApprovalId, Decision)>,
    /// Results of delegated calls for the waiting turns.
    pub(super) results: Vec<(TurnId, ToolResult)>,
    /// Calls to carry out because their card was approved.
    pub(super) carried: Vec<Approval>,
    /// Skills to load for occurrences.
    pub(super) loads: Vec<(Key, NamedSkills)>,
    pub(super) starts: Vec<Start>,
    /// Interruptions and prioritizations of active turns.
    pub(super) reins: Vec<Effect>,
}

impl Minutes {
    pub(super) fn at(now: &Zoned) -> Self {
        let at = now.timestamp();
        let zone = now.time_zone().clone();
        let records = Vec::new();
        let shown = Vec::new();
        let decided = Vec::new();
        let results = Vec::new();
        let carried = Vec::new();
        let loads = Vec::new();
        let starts = Vec::new();
        let reins = Vec::new();
        Self { at, zone, records, shown, decided, results, carried, loads, starts, reins }
    }

    pub(super) fn close(&mut self, turn: TurnId, ending: Ending, usage: Usage) {
        self.records.push(Record::Turn(TurnChange::Closed(Closed { turn, ending, usage, at: self.at })));
    }

    /// Returns the effects in order: one write, so that a failed write leaves nothing half done;
    /// then updates, decisions and results for waiting turns, new turns, and commands to active
    /// turns.
    pub(super) fn effects(self) -> Vec<Effect> {
        let written = (!self.records.is_empty()).then_some(Effect::Write(self.records));
        let shown = self.shown.into_iter().map(Effect::Show);
        let decided = self.decided.into_iter().map(|(turn, id, decision)| Effect::Decide(turn, id, decision));
        written
            .into_iter()
            .chain(shown)
            .chain(decided)
            .chain(self.results.into_iter().map(|(turn, result)| Effect::Answer(turn, result)))
            .chain(self.carried.into_iter().map(Effect::Carry))
            .chain(self.loads.into_iter().map(|(key, wanted)| Effect::LoadSkills(key, wanted)))
            .chain(self.starts.into_iter().map(Effect::StartTurn))
            .chain(self.reins)
            .collect()
    }
}
