//! The minutes of one decision, and the order in which what they say happens.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::{Effect, Shown, Start};
use crate::conversation::Usage;
use crate::record::{Closed, Record, TurnChange};
use crate::turn::{Ending, TurnId};

/// The minutes of one decision: what is written, and what may then be shown.
#[derive(Debug)]
pub(super) struct Minutes {
    pub(super) at: Timestamp,
    pub(super) zone: TimeZone,
    pub(super) records: Vec<Record>,
    pub(super) shown: Vec<Shown>,
    pub(super) starts: Vec<Start>,
}

impl Minutes {
    pub(super) fn at(now: &Zoned) -> Self {
        let (at, zone) = (now.timestamp(), now.time_zone().clone());
        Self { at, zone, records: Vec::new(), shown: Vec::new(), starts: Vec::new() }
    }

    pub(super) fn close(&mut self, turn: TurnId, ending: Ending, usage: Usage) {
        self.records.push(Record::Turn(TurnChange::Closed(Closed { turn, ending, usage, at: self.at })));
    }

    /// Written first, all at once, so that a writing that fails leaves nothing half done; then shown; then begun.
    pub(super) fn effects(self) -> Vec<Effect> {
        let written = (!self.records.is_empty()).then_some(Effect::Write(self.records));
        let shown = self.shown.into_iter().map(Effect::Show);
        written.into_iter().chain(shown).chain(self.starts.into_iter().map(Effect::StartTurn)).collect()
    }
}
