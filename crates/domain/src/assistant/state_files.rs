//! State files changed by other programs: applies each change.
//!
//! A change may be reported more than once, so applying is idempotent.

use std::sync::Arc;

use jiff::{Timestamp, Zoned};

use super::{Answer, Assistant, Effect, MainChangeKind, Transaction, Update};
use crate::conversation::{Branch, Head, MoveReason, SessionId};
use crate::label::Label;
use crate::pending_update::{PendingUpdate, UpdateId};
use crate::record::{PlanChange, Record, SentChange, SessionChange, SessionHead, UpdateChange, UpdatesRead};
use crate::schedule::ItemId;
use crate::sent_messages::{MessageOrigin, SentId};

/// A change that another program made to a state file.
#[derive(Clone, Debug, PartialEq)]
pub enum StateEdit {
    /// `sessions.json` names a session that is known, or none.
    MainSession(Option<Head>),
    /// `sessions.json` named a session that is not known.
    UnknownMainSession(SessionId),
    /// The session file of a routine names a session that is known, or none.
    RoutineSession(ItemId, Option<SessionHead>),
    /// The session file of a routine names a session that is not known.
    UnknownRoutineSession(ItemId, SessionId),
    /// An update was added to `pending_updates.json`.
    UpdateAdded { at: Timestamp, text: String },
    /// An update was removed from `pending_updates.json`.
    UpdateRemoved(UpdateId),
    /// Records in `fork_messages.json` were changed.
    RunMessages {
        /// Added or changed records.
        changed: Vec<MessageOrigin>,
        /// Removed records.
        removed: Vec<SentId>,
    },
    /// A file was damaged; with the notice for the user.
    Damaged(String),
}

/// The source of an update from another program.
const EXTERNAL_SOURCE: &str = "elsewhere";

impl Assistant {
    pub(super) fn on_state_files_changed(
        &mut self,
        edits: Vec<StateEdit>,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let effects = edits.into_iter().flat_map(|edit| self.apply_state_edit(edit, now)).collect();
        (Answer::Done, effects)
    }

    fn apply_state_edit(&mut self, edit: StateEdit, now: &Zoned) -> Vec<Effect> {
        let mut tx = Transaction::at(now);
        match edit {
            StateEdit::MainSession(None) => {
                let notice = "state/sessions.json was removed or emptied, so the next message starts a new session. \
                             /undo brings the conversation back.";
                return self.start_new_main_session(notice.to_owned(), now);
            }
            StateEdit::UnknownMainSession(session) => {
                let notice = format!(
                    "state/sessions.json named the session {session}, which I don't know, so the next message starts a new \
                     session. /undo brings the conversation back."
                );
                return self.start_new_main_session(notice, now);
            }
            StateEdit::MainSession(Some(head)) => return self.switch_main(head, now),
            StateEdit::RoutineSession(id, stand) => {
                if self.state.plans.sessions.get(&id) == stand.as_ref() {
                    return Vec::new();
                }
                let notice = match &stand {
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
                self.set_routine_session(id, stand, notice, &mut tx);
            }
            StateEdit::UnknownRoutineSession(id, session) => {
                if !self.state.plans.sessions.contains_key(&id) {
                    return Vec::new();
                }
                let notice = format!(
                    "state/routine_sessions/{id} named the session {session}, which I don't know: the routine begins a new one."
                );
                self.set_routine_session(id, None, notice, &mut tx);
            }
            StateEdit::Damaged(notice) => tx.updates.push(Update::Notice(notice)),
            StateEdit::UpdateAdded { at, text } => self.add_update(at, text, &mut tx),
            StateEdit::RunMessages { changed: kept, removed: gone } => {
                self.set_run_messages(kept, gone, &mut tx)
            }
            StateEdit::UpdateRemoved(id) => {
                let waiting = Arc::make_mut(&mut self.state.updates.waiting);
                if let Some(place) = waiting.iter().position(|report| report.id == id) {
                    waiting.remove(place);
                    let reading = UpdatesRead { quoted: vec![id], counted: Vec::new(), entry: None };
                    tx.records.push(Record::Update(UpdateChange::Read(reading)));
                }
            }
        }
        tx.into_effects()
    }

    fn set_routine_session(
        &mut self,
        id: ItemId,
        session_head: Option<SessionHead>,
        notice: String,
        tx: &mut Transaction,
    ) {
        match &session_head {
            Some(session_head) => self.state.plans.sessions.insert(id.clone(), session_head.clone()),
            None => self.state.plans.sessions.remove(&id),
        };
        tx.record_plan(Some(PlanChange::SessionHead(id, session_head)));
        tx.updates.push(Update::Notice(notice));
    }

    fn set_run_messages(&mut self, changed: Vec<MessageOrigin>, removed: Vec<SentId>, tx: &mut Transaction) {
        let sent = Arc::make_mut(&mut self.state.messages.sent);
        let changed: Vec<MessageOrigin> =
            changed.into_iter().filter(|origin| !sent.has_origin(origin)).collect();
        if !changed.is_empty() {
            sent.add_origins(&changed, tx.at);
            tx.records.push(Record::from(SentChange::OriginsKept(changed, tx.at)));
        }
        if sent.remove(&removed) {
            tx.records.push(Record::from(SentChange::Removed(removed)));
        }
    }

    /// Like [`Self::leave_update`], with the time that the other program gave.
    fn add_update(&mut self, at: Timestamp, text: String, tx: &mut Transaction) {
        if self.state.updates.waiting.iter().any(|report| report.at == at && report.text == text) {
            return;
        }
        let id = self.state.updates.next;
        self.state.updates.next = UpdateId(id.0 + 1);
        let report = PendingUpdate { id, at, source: EXTERNAL_SOURCE.to_owned(), text, label: Label::PLAIN };
        Arc::make_mut(&mut self.state.updates.waiting).push(report.clone());
        tx.records.push(Record::Update(UpdateChange::Left(report)));
    }

    /// Like `/clear`, but the session file is gone already and no `cleared` event is written for it.
    fn start_new_main_session(&mut self, notice: String, now: &Zoned) -> Vec<Effect> {
        if self.state.conversation.head(&Branch::Main).is_none() {
            return Vec::new();
        }
        let (_, mut effects) = self.clear(now);
        if let Some(Effect::Write(records)) = effects.first_mut() {
            records.retain(|record| !matches!(record, Record::Session(SessionChange::Cleared(..))));
        }
        effects.push(Effect::Show(Update::Notice(notice)));
        effects
    }

    fn switch_main(&mut self, to: Head, now: &Zoned) -> Vec<Effect> {
        if self.state.conversation.head(&Branch::Main).is_some_and(|head| head.session == to.session) {
            return Vec::new();
        }
        let mut tx = Transaction::at(now);
        let active_turn = self.active_turns.get(&Branch::Main).map(|running| running.turn);
        self.abandon_turn(&Branch::Main, &mut tx);
        self.state.turns.context_tokens.remove(&Branch::Main);
        self.transient.failed_compaction_sizes.remove(&Branch::Main);
        let notice =
            format!("state/sessions.json names the session {} now, and we go on with that.", to.session);
        let moved = self.state.conversation.switch_main(to, tx.at);
        self.push_main_undo(MainChangeKind::Promoted, &moved);
        tx.records.push(Record::BranchMoved(moved));
        tx.updates.push(Update::MainMoved(MoveReason::Promoted));
        tx.updates.push(Update::Notice(notice));
        self.start_next_turn(&mut tx);
        tx.into_effects().into_iter().chain(active_turn.map(Effect::Interrupt)).collect()
    }
}
