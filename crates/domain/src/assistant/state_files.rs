//! State files changed by other programs: applies each change.
//!
//! A change may be reported more than once, so applying is idempotent.

use std::sync::Arc;

use jiff::{Timestamp, Zoned};

use super::{Answer, Assistant, Changed, Effect, Minutes, Shown};
use crate::conversation::{Branch, Head, SessionId, Why};
use crate::label::Label;
use crate::record::{PlanChange, Reading, Record, ReportChange, SentChange, SessionChange, Stand};
use crate::report::{Report, ReportId};
use crate::schedule::ItemId;
use crate::sent::{Origin, SentId};

/// A change that another program made to a state file.
#[derive(Clone, Debug, PartialEq)]
pub enum StateEdit {
    /// `sessions.json` names a session that is known, or none.
    MainSession(Option<Head>),
    /// `sessions.json` named a session that is not known.
    UnknownMainSession(SessionId),
    /// The session file of a routine names a session that is known, or none.
    RoutineSession(ItemId, Option<Stand>),
    /// The session file of a routine names a session that is not known.
    UnknownRoutineSession(ItemId, SessionId),
    /// An update was added to `pending_updates.json`.
    UpdateAdded { at: Timestamp, text: String },
    /// An update was removed from `pending_updates.json`.
    UpdateRemoved(ReportId),
    /// Records in `fork_messages.json` were changed.
    RunMessages {
        /// Added or changed records.
        kept: Vec<Origin>,
        /// Removed records.
        gone: Vec<SentId>,
    },
    /// A file was damaged; with the notice for the user.
    Damaged(String),
}

/// The source of an update from another program.
const ELSEWHERE: &str = "elsewhere";

impl Assistant {
    pub(super) fn state_files_changed(
        &mut self,
        edits: Vec<StateEdit>,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let effects = edits.into_iter().flat_map(|edit| self.follow_state_file(edit, now)).collect();
        (Answer::Noted, effects)
    }

    fn follow_state_file(&mut self, edit: StateEdit, now: &Zoned) -> Vec<Effect> {
        let mut minutes = Minutes::at(now);
        match edit {
            StateEdit::MainSession(None) => {
                let words = "state/sessions.json was removed or emptied, so the next message starts a new session. \
                             /undo brings the conversation back.";
                return self.start_over(words.to_owned(), now);
            }
            StateEdit::UnknownMainSession(session) => {
                let words = format!(
                    "state/sessions.json named the session {session}, which I don't know, so the next message starts a new \
                     session. /undo brings the conversation back."
                );
                return self.start_over(words, now);
            }
            StateEdit::MainSession(Some(head)) => return self.switch_main(head, now),
            StateEdit::RoutineSession(id, stand) => {
                if self.memory.plans.sessions.get(&id) == stand.as_ref() {
                    return Vec::new();
                }
                let words = match &stand {
                    None => format!(
                        "state/routine_sessions/{id} was removed or emptied: the routine begins a new session."
                    ),
                    Some(stand) => {
                        let session = &stand.session;
                        format!(
                            "state/routine_sessions/{id} names the session {session} now: the routine goes on with it."
                        )
                    }
                };
                self.set_stand(id, stand, words, &mut minutes);
            }
            StateEdit::UnknownRoutineSession(id, session) => {
                if !self.memory.plans.sessions.contains_key(&id) {
                    return Vec::new();
                }
                let words = format!(
                    "state/routine_sessions/{id} named the session {session}, which I don't know: the routine begins a new one."
                );
                self.set_stand(id, None, words, &mut minutes);
            }
            StateEdit::Damaged(words) => minutes.shown.push(Shown::Notice(words)),
            StateEdit::UpdateAdded { at, text } => self.add_update(at, text, &mut minutes),
            StateEdit::RunMessages { kept, gone } => self.set_run_messages(kept, gone, &mut minutes),
            StateEdit::UpdateRemoved(id) => {
                let waiting = Arc::make_mut(&mut self.memory.reports.waiting);
                if let Some(place) = waiting.iter().position(|report| report.id == id) {
                    waiting.remove(place);
                    let reading = Reading { quoted: vec![id], counted: Vec::new(), entry: None };
                    minutes.records.push(Record::Report(ReportChange::Read(reading)));
                }
            }
        }
        minutes.effects()
    }

    fn set_stand(&mut self, id: ItemId, stand: Option<Stand>, words: String, minutes: &mut Minutes) {
        match &stand {
            Some(stand) => self.memory.plans.sessions.insert(id.clone(), stand.clone()),
            None => self.memory.plans.sessions.remove(&id),
        };
        minutes.plan(Some(PlanChange::Session(id, stand)));
        minutes.shown.push(Shown::Notice(words));
    }

    fn set_run_messages(&mut self, kept: Vec<Origin>, gone: Vec<SentId>, minutes: &mut Minutes) {
        let sent = Arc::make_mut(&mut self.memory.messages.sent);
        let kept: Vec<Origin> = kept.into_iter().filter(|origin| !sent.has(origin)).collect();
        if !kept.is_empty() {
            sent.keep(&kept, minutes.at);
            minutes.records.push(Record::from(SentChange::Kept(kept, minutes.at)));
        }
        if sent.remove(&gone) {
            minutes.records.push(Record::from(SentChange::Removed(gone)));
        }
    }

    /// Like [`Self::leave_update`], with the time that the other program gave.
    fn add_update(&mut self, at: Timestamp, text: String, minutes: &mut Minutes) {
        if self.memory.reports.waiting.iter().any(|report| report.at == at && report.text == text) {
            return;
        }
        let id = self.memory.reports.next;
        self.memory.reports.next = ReportId(id.0 + 1);
        let report = Report { id, at, from: ELSEWHERE.to_owned(), text, label: Label::PLAIN };
        Arc::make_mut(&mut self.memory.reports.waiting).push(report.clone());
        minutes.records.push(Record::Report(ReportChange::Left(report)));
    }

    /// Like `/clear`, but the session file is gone already and no `cleared` event is written for it.
    fn start_over(&mut self, words: String, now: &Zoned) -> Vec<Effect> {
        if self.memory.conversation.head(&Branch::Main).is_none() {
            return Vec::new();
        }
        let (_, mut effects) = self.clear(now);
        if let Some(Effect::Write(records)) = effects.first_mut() {
            records.retain(|record| !matches!(record, Record::Session(SessionChange::Cleared(..))));
        }
        effects.push(Effect::Show(Shown::Notice(words)));
        effects
    }

    fn switch_main(&mut self, to: Head, now: &Zoned) -> Vec<Effect> {
        if self.memory.conversation.head(&Branch::Main).is_some_and(|head| head.session == to.session) {
            return Vec::new();
        }
        let mut minutes = Minutes::at(now);
        let speaking = self.running.get(&Branch::Main).map(|running| running.turn);
        self.cut_short(&Branch::Main, &mut minutes);
        self.memory.turns.filled.remove(&Branch::Main);
        self.wants.refused.remove(&Branch::Main);
        let words =
            format!("state/sessions.json names the session {} now, and we go on with that.", to.session);
        let moved = self.memory.conversation.switch(to, minutes.at);
        self.can_undo(Changed::Promoted, &moved);
        minutes.records.push(Record::Moved(moved));
        minutes.shown.push(Shown::Moved(Why::Promoted));
        minutes.shown.push(Shown::Notice(words));
        self.hear_waiting(&mut minutes);
        minutes.effects().into_iter().chain(speaking.map(Effect::Interrupt)).collect()
    }
}
