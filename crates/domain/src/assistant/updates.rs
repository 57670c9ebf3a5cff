//! Pending updates: main reads each once, forks only see them.
//!
//! An update becomes part of an entry and is marked as read in the same transaction, so a crash can
//! neither lose nor repeat it.

use std::sync::Arc;

use jiff::Zoned;

use super::{Answer, Assistant, Effect, Transaction, Update};
use crate::context::{self, INBOX_SOURCE, MAX_QUOTED, UpdateReader};
use crate::conversation::{Branch, EntryId, UserInput};
use crate::inbox::{InboxItem, InboxItemId};
use crate::label::Label;
use crate::pending_update::{PendingUpdate, UpdateId, list_text};
use crate::record::{Message, Record, SurfaceName, UpdateChange, UpdatesRead};

/// Most pending updates.
const MAX_PENDING: usize = 1_000;

impl Assistant {
    /// Returns the content of `message` for the model on `branch`, with `lead` and pending updates
    /// before it, and the label of these updates.
    pub(super) fn content_on(
        &mut self,
        message: &Message,
        branch: &Branch,
        lead: &str,
        tx: &Transaction,
    ) -> (UserInput, Label) {
        let seen = self
            .state
            .fork
            .as_ref()
            .filter(|fork| fork.branch == *branch)
            .and_then(|fork| fork.last_read_update);
        self.content_for(self.update_reader(branch), seen, message, lead, tx)
    }

    /// Returns which updates the model on `branch` reads.
    fn update_reader(&self, branch: &Branch) -> UpdateReader {
        match (branch, self.state.turns.runs.get(branch)) {
            (_, Some(run)) => run.update_reader(),
            // The offline model must not consume pending updates.
            (_, None) if self.choices.is_offline() => UpdateReader::Run,
            // Updates read by main while a fork is open would be lost if the fork were promoted.
            (Branch::Main, None) if self.state.fork.is_some() => UpdateReader::Run,
            (Branch::Main, None) => UpdateReader::Main,
            (Branch::Fork(_), None) => UpdateReader::Fork,
        }
    }

    /// Returns the content of `message` for `reader`. Updates up to `seen` are in the conversation
    /// already and are left out.
    pub(super) fn content_for(
        &mut self,
        reader: UpdateReader,
        seen: Option<UpdateId>,
        message: &Message,
        lead: &str,
        tx: &Transaction,
    ) -> (UserInput, Label) {
        let sent = message.at.to_zoned(tx.zone.clone());
        let now = tx.at.to_zoned(tx.zone.clone());
        let updates: Vec<PendingUpdate> = match reader {
            UpdateReader::Run => Vec::new(),
            UpdateReader::Main | UpdateReader::Fork => {
                let waiting = self.state.updates.waiting.iter();
                waiting.filter(|report| seen.is_none_or(|seen| report.id > seen)).cloned().collect()
            }
        };
        let label = updates.iter().map(|report| report.label).fold(Label::PLAIN, Label::join);
        let marker = if label.is_tainted() { self.rng.short_id() } else { String::new() };
        let preface = context::preface(&sent, &updates, reader, &now, &marker);
        let preface = context::with_lead(&preface, lead);
        let content = match message.surface {
            SurfaceName::Internal => UserInput::note(context::join_preface(&preface, &message.text)),
            SurfaceName::Terminal | SurfaceName::Page | SurfaceName::Discord => {
                UserInput { preface, text: message.text.clone(), images: message.images.clone() }
            }
        };
        (content, label)
    }

    /// PU-4, PU-5, PU-8: marks all updates as read by main, or as seen by the fork.
    pub(super) fn mark_updates_delivered(&mut self, branch: &Branch, entry: EntryId, tx: &mut Transaction) {
        let Some(newest) = self.state.updates.waiting.last().map(|report| report.id) else { return };
        if self.choices.is_offline() {
            return;
        }
        match branch {
            Branch::Main if self.state.fork.is_some() => {}
            Branch::Main => {
                tx.updates.insert(0, Update::Notice(catching_up_notice(&self.state.updates.waiting)));
                self.mark_updates_read(newest, Some(entry), tx);
            }
            Branch::Fork(_) if self.state.turns.runs.contains_key(branch) => {}
            Branch::Fork(_) => self.update_fork(tx, |fork| fork.last_read_update = Some(newest)),
        }
    }

    /// Marks the updates up to `newest` as read, in `entry` if there is one.
    pub(super) fn mark_updates_read(
        &mut self,
        newest: UpdateId,
        entry: Option<EntryId>,
        tx: &mut Transaction,
    ) {
        let waiting = Arc::make_mut(&mut self.state.updates.waiting);
        let count = waiting.partition_point(|report| report.id <= newest);
        let read: Vec<PendingUpdate> = waiting.drain(..count).collect();
        if read.is_empty() {
            return;
        }
        let ids = |reports: &[PendingUpdate]| reports.iter().map(|report| report.id).collect();
        let (counted, quoted) = read.split_at(read.len().saturating_sub(MAX_QUOTED));
        let reading = UpdatesRead { quoted: ids(quoted), counted: ids(counted), entry };
        tx.records.push(Record::Update(UpdateChange::Read(reading)));
        let changes = Arc::make_mut(&mut self.state.main.changes);
        changes.retain(|change| change.is_undoable(tx.at));
        if let Some(change) = changes.last_mut() {
            change.read_updates.extend(read);
        }
    }

    /// Restores updates that main read in an undone part of the conversation.
    pub(super) fn restore_updates(&mut self, reports: Vec<PendingUpdate>, tx: &mut Transaction) {
        if reports.is_empty() {
            return;
        }
        let ids = reports.iter().map(|report| report.id).collect();
        tx.records.push(Record::Update(UpdateChange::Unread(ids)));
        let waiting = Arc::make_mut(&mut self.state.updates.waiting);
        waiting.extend(reports);
        waiting.sort_by_key(|report| report.id);
    }

    /// PU-1: leaves `text` with the label `label` as a pending update for main.
    pub(super) fn leave_update(&mut self, from: &str, label: Label, text: String, tx: &mut Transaction) {
        let id = self.state.updates.next;
        self.state.updates.next = UpdateId(id.0 + 1);
        // An installation without a model never reads updates: the oldest are dropped.
        if self.state.updates.waiting.len() >= MAX_PENDING
            && let Some(oldest) = self.state.updates.waiting.first().map(|report| report.id)
        {
            self.mark_updates_read(oldest, None, tx);
        }
        let report = PendingUpdate { id, at: tx.at, source: from.to_owned(), text, label };
        Arc::make_mut(&mut self.state.updates.waiting).push(report.clone());
        tx.records.push(Record::Update(UpdateChange::Left(report)));
    }

    /// Leaves a new inbox item for the model while there is none.
    pub(super) fn leave_inbox_update(&mut self, kept: &InboxItem, tx: &mut Transaction) {
        if self.choices.is_offline() {
            self.leave_update(
                INBOX_SOURCE,
                Label::PLAIN,
                format!("{}{}", number_prefix(kept.id), kept.text),
                tx,
            );
        }
    }

    /// Withdraws the update about a removed inbox item.
    pub(super) fn withdraw_inbox_update(&mut self, id: InboxItemId, tx: &mut Transaction) {
        let is_about_item = |report: &PendingUpdate| {
            report.source == INBOX_SOURCE && report.text.starts_with(&number_prefix(id))
        };
        let Some(at) = self.state.updates.waiting.iter().position(is_about_item) else { return };
        let report = Arc::make_mut(&mut self.state.updates.waiting).remove(at);
        let reading = UpdatesRead { quoted: vec![report.id], counted: Vec::new(), entry: None };
        tx.records.push(Record::Update(UpdateChange::Read(reading)));
    }

    /// Marks an update as read by the user, so that main does not read it.
    pub(super) fn dismiss_update(&mut self, id: UpdateId, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some(at) = self.state.updates.waiting.iter().position(|report| report.id == id) else {
            return super::forks::refusal_reply("that does not wait any more: it was read meanwhile.");
        };
        let mut tx = Transaction::at(now);
        let report = Arc::make_mut(&mut self.state.updates.waiting).remove(at);
        let reading = UpdatesRead { quoted: vec![report.id], counted: Vec::new(), entry: None };
        tx.records.push(Record::Update(UpdateChange::Read(reading)));
        (Answer::Text(format!("read: what {} found.", report.source)), tx.into_effects())
    }

    /// TL-12, IF-20: leaves the fork's report at once, whatever becomes of the fork.
    pub(super) fn leave_fork_update(&mut self, text: String, tx: &mut Transaction) {
        let Some(branch) = self.state.fork.as_ref().map(|fork| fork.branch.clone()) else { return };
        self.leave_update(&branch.to_string(), self.label(&branch), text, tx);
    }

    pub(super) fn list_updates(&self, now: &Zoned) -> (Answer, Vec<Effect>) {
        (Answer::Text(list_text(&self.state.updates.waiting, now.timestamp())), Vec::new())
    }
}

/// Returns the prefix with the number of an inbox item.
fn number_prefix(id: InboxItemId) -> String {
    format!("{}. ", id.0)
}

/// Prefix of the notice that main reads updates; it is not posted.
pub(super) const CATCHING_UP: &str = "catching up:";

/// PU-13: returns the notice shown before main reads these updates.
fn catching_up_notice(reports: &[PendingUpdate]) -> String {
    let told_count = reports.iter().filter(|report| report.source == INBOX_SOURCE).count();
    let told_count = match told_count {
        0 => None,
        1 => Some("1 thing you told me while i had no model".to_owned()),
        count => Some(format!("{count} things you told me while i had no model")),
    };
    let updates = match reports.iter().filter(|report| report.source != INBOX_SOURCE).count() {
        0 => None,
        1 => Some("1 update from the background".to_owned()),
        count => Some(format!("{count} updates from the background")),
    };
    let both: Vec<String> = [told_count, updates].into_iter().flatten().collect();
    format!("{CATCHING_UP} {}.", both.join(", "))
}
