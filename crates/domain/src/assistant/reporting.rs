//! Pending updates: main reads each once, forks only see them.
//!
//! An update becomes part of an entry and is marked as read in the same transaction, so a crash can
//! neither lose nor repeat it.

use std::sync::Arc;

use jiff::Zoned;

use super::{Answer, Assistant, Effect, Minutes, Shown};
use crate::context::{self, QUOTED, Reader, TOLD};
use crate::conversation::{Branch, EntryId, Heard};
use crate::inbox::{Kept, KeptId};
use crate::label::Label;
use crate::record::{Message, Reading, Record, ReportChange, SurfaceName};
use crate::report::{Report, ReportId, read_out};

/// Most pending updates.
const WAITING: usize = 1_000;

impl Assistant {
    /// Returns the content of `message` for the model on `branch`, with `lead` and pending updates
    /// before it, and the label of these updates.
    pub(super) fn heard(
        &mut self,
        message: &Message,
        branch: &Branch,
        lead: &str,
        minutes: &Minutes,
    ) -> (Heard, Label) {
        let seen = self.memory.fork.as_ref().filter(|fork| fork.branch == *branch).and_then(|fork| fork.seen);
        self.heard_by(self.reader(branch), seen, message, lead, minutes)
    }

    /// Returns which updates the model on `branch` reads.
    fn reader(&self, branch: &Branch) -> Reader {
        match (branch, self.memory.turns.runs.get(branch)) {
            (_, Some(run)) => run.reader(),
            // The offline model must not consume pending updates.
            (_, None) if self.choices.is_offline() => Reader::Nobody,
            // Updates read by main while a fork is open would be lost if the fork were promoted.
            (Branch::Main, None) if self.memory.fork.is_some() => Reader::Nobody,
            (Branch::Main, None) => Reader::Main,
            (Branch::Fork(_), None) => Reader::Fork,
        }
    }

    /// Returns the content of `message` for `reader`. Updates up to `seen` are in the conversation
    /// already and are left out.
    pub(super) fn heard_by(
        &mut self,
        reader: Reader,
        seen: Option<ReportId>,
        message: &Message,
        lead: &str,
        minutes: &Minutes,
    ) -> (Heard, Label) {
        let sent = message.at.to_zoned(minutes.zone.clone());
        let now = minutes.at.to_zoned(minutes.zone.clone());
        let told: Vec<Report> = match reader {
            Reader::Nobody => Vec::new(),
            Reader::Main | Reader::Fork => {
                let waiting = self.memory.reports.waiting.iter();
                waiting.filter(|report| seen.is_none_or(|seen| report.id > seen)).cloned().collect()
            }
        };
        let label = told.iter().map(|report| report.label).fold(Label::PLAIN, Label::join);
        let marker = if label.is_tainted() { self.dice.id8() } else { String::new() };
        let preface = context::preface(&sent, &told, reader, &now, &marker);
        let preface = context::led(&preface, lead);
        let heard = match message.surface {
            SurfaceName::House => Heard::note(context::joined(&preface, &message.text)),
            SurfaceName::Terminal | SurfaceName::Page | SurfaceName::Discord => {
                Heard { preface, text: message.text.clone(), images: message.images.clone() }
            }
        };
        (heard, label)
    }

    /// PU-4, PU-5, PU-8: marks all updates as read by main, or as seen by the fork.
    pub(super) fn hand_over(&mut self, branch: &Branch, entry: EntryId, minutes: &mut Minutes) {
        let Some(newest) = self.memory.reports.waiting.last().map(|report| report.id) else { return };
        if self.choices.is_offline() {
            return;
        }
        match branch {
            Branch::Main if self.memory.fork.is_some() => {}
            Branch::Main => {
                minutes.shown.insert(0, Shown::Notice(catching_up(&self.memory.reports.waiting)));
                self.read_up_to(newest, Some(entry), minutes);
            }
            Branch::Fork(_) if self.memory.turns.runs.contains_key(branch) => {}
            Branch::Fork(_) => self.change_fork(minutes, |fork| fork.seen = Some(newest)),
        }
    }

    /// Marks the updates up to `newest` as read, in `entry` if there is one.
    pub(super) fn read_up_to(&mut self, newest: ReportId, entry: Option<EntryId>, minutes: &mut Minutes) {
        let waiting = Arc::make_mut(&mut self.memory.reports.waiting);
        let count = waiting.partition_point(|report| report.id <= newest);
        let read: Vec<Report> = waiting.drain(..count).collect();
        if read.is_empty() {
            return;
        }
        let ids = |reports: &[Report]| reports.iter().map(|report| report.id).collect();
        let (counted, quoted) = read.split_at(read.len().saturating_sub(QUOTED));
        let reading = Reading { quoted: ids(quoted), counted: ids(counted), entry };
        minutes.records.push(Record::Report(ReportChange::Read(reading)));
        let changes = Arc::make_mut(&mut self.memory.main.changes);
        changes.retain(|change| change.is_fresh(minutes.at));
        if let Some(change) = changes.last_mut() {
            change.read.extend(read);
        }
    }

    /// Restores updates that main read in an undone part of the conversation.
    pub(super) fn unread(&mut self, reports: Vec<Report>, minutes: &mut Minutes) {
        if reports.is_empty() {
            return;
        }
        let ids = reports.iter().map(|report| report.id).collect();
        minutes.records.push(Record::Report(ReportChange::Unread(ids)));
        let waiting = Arc::make_mut(&mut self.memory.reports.waiting);
        waiting.extend(reports);
        waiting.sort_by_key(|report| report.id);
    }

    /// PU-1: leaves `text` with the label `label` as a pending update for main.
    pub(super) fn report(&mut self, from: &str, label: Label, text: String, minutes: &mut Minutes) {
        let id = self.memory.reports.next;
        self.memory.reports.next = ReportId(id.0 + 1);
        // An installation without a model never reads updates: the oldest are dropped.
        if self.memory.reports.waiting.len() >= WAITING
            && let Some(oldest) = self.memory.reports.waiting.first().map(|report| report.id)
        {
            self.read_up_to(oldest, None, minutes);
        }
        let report = Report { id, at: minutes.at, from: from.to_owned(), text, label };
        Arc::make_mut(&mut self.memory.reports.waiting).push(report.clone());
        minutes.records.push(Record::Report(ReportChange::Left(report)));
    }

    /// Leaves a new inbox item for the model while there is none.
    pub(super) fn keep_for_model(&mut self, kept: &Kept, minutes: &mut Minutes) {
        if self.choices.is_offline() {
            self.report(TOLD, Label::PLAIN, format!("{}{}", number(kept.id), kept.text), minutes);
        }
    }

    /// Withdraws the update about a removed inbox item.
    pub(super) fn not_for_model(&mut self, id: KeptId, minutes: &mut Minutes) {
        let told = |report: &Report| report.from == TOLD && report.text.starts_with(&number(id));
        let Some(at) = self.memory.reports.waiting.iter().position(told) else { return };
        let report = Arc::make_mut(&mut self.memory.reports.waiting).remove(at);
        let reading = Reading { quoted: vec![report.id], counted: Vec::new(), entry: None };
        minutes.records.push(Record::Report(ReportChange::Read(reading)));
    }

    /// Marks an update as read by the user, so that main does not read it.
    pub(super) fn human_read(&mut self, id: ReportId, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some(at) = self.memory.reports.waiting.iter().position(|report| report.id == id) else {
            return super::forking::refused("that does not wait any more: it was read meanwhile.");
        };
        let mut minutes = Minutes::at(now);
        let report = Arc::make_mut(&mut self.memory.reports.waiting).remove(at);
        let reading = Reading { quoted: vec![report.id], counted: Vec::new(), entry: None };
        minutes.records.push(Record::Report(ReportChange::Read(reading)));
        (Answer::Told(format!("read: what {} found.", report.from)), minutes.effects())
    }

    /// TL-12, IF-20: leaves the fork's report at once, whatever becomes of the fork.
    pub(super) fn report_from_fork(&mut self, text: String, minutes: &mut Minutes) {
        let Some(branch) = self.memory.fork.as_ref().map(|fork| fork.branch.clone()) else { return };
        self.report(&branch.to_string(), self.label_of(&branch), text, minutes);
    }

    pub(super) fn read_reports(&self, now: &Zoned) -> (Answer, Vec<Effect>) {
        (Answer::Told(read_out(&self.memory.reports.waiting, now.timestamp())), Vec::new())
    }
}

/// Returns the prefix with the number of an inbox item.
fn number(id: KeptId) -> String {
    format!("{}. ", id.0)
}

/// Prefix of the notice that main reads updates; it is not posted.
pub(super) const CATCHING_UP: &str = "catching up:";

/// PU-13: returns the notice shown before main reads these updates.
fn catching_up(reports: &[Report]) -> String {
    let told = reports.iter().filter(|report| report.from == TOLD).count();
    let told = match told {
        0 => None,
        1 => Some("1 thing you told me while i had no model".to_owned()),
        count => Some(format!("{count} things you told me while i had no model")),
    };
    let updates = match reports.iter().filter(|report| report.from != TOLD).count() {
        0 => None,
        1 => Some("1 update from the background".to_owned()),
        count => Some(format!("{count} updates from the background")),
    };
    let both: Vec<String> = [told, updates].into_iter().flatten().collect();
    format!("{CATCHING_UP} {}.", both.join(", "))
}
