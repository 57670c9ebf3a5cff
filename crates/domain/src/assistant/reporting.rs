//! Reports in the conversation: main reads each once, forks look at them.
//!
//! What main reads is part of an entry and is marked as read in the same writing, so that a crash between the
//! two cannot happen and no report is told twice or never.

use std::sync::Arc;

use jiff::Zoned;

use super::{Answer, Assistant, Effect, Minutes};
use crate::context::{self, Reader};
use crate::conversation::{Branch, EntryId, Heard};
use crate::record::{Message, Record, ReportChange, SurfaceName};
use crate::report::{Report, ReportId, read_out};

impl Assistant {
    /// A message as the model will read it on `branch`, after a `lead` of ours.
    pub(super) fn heard(
        &self,
        message: &Message,
        (branch, lead): (&Branch, &str),
        minutes: &Minutes,
    ) -> Heard {
        let sent = message.at.to_zoned(minutes.zone.clone());
        let now = minutes.at.to_zoned(minutes.zone.clone());
        let reader = match (branch, self.memory.turns.runs.get(branch)) {
            (_, Some(run)) => run.reader(),
            (Branch::Main, None) => Reader::Main,
            (Branch::Fork(_), None) => Reader::Fork,
        };
        let preface = context::preface(&sent, &self.memory.reports.waiting, reader, &now);
        let preface = context::led(&preface, lead);
        match message.surface {
            SurfaceName::House => Heard::note(context::joined(&preface, &message.text)),
            SurfaceName::Terminal | SurfaceName::Page => {
                Heard { preface, text: message.text.clone(), images: message.images.clone() }
            }
        }
    }

    /// PU-4, PU-5, PU-8: main has now read all that waited; a fork has only seen it.
    pub(super) fn hand_over(&mut self, branch: &Branch, entry: EntryId, minutes: &mut Minutes) {
        let Some(newest) = self.memory.reports.waiting.last().map(|report| report.id) else { return };
        match branch {
            Branch::Main => self.read_up_to(newest, Some(entry), minutes),
            Branch::Fork(_) if self.memory.turns.runs.contains_key(branch) => {}
            Branch::Fork(_) => self.change_fork(minutes, |fork| fork.seen = Some(newest)),
        }
    }

    /// Marks the reports up to `newest` as read, in `entry` if there is one.
    pub(super) fn read_up_to(&mut self, newest: ReportId, entry: Option<EntryId>, minutes: &mut Minutes) {
        let reports = Arc::make_mut(&mut self.memory.reports.waiting);
        let waiting = reports.partition_point(|report| report.id <= newest);
        let read: Vec<ReportId> = reports.drain(..waiting).map(|report| report.id).collect();
        if !read.is_empty() {
            minutes.records.push(Record::Report(ReportChange::Read(read, entry)));
        }
    }

    /// PU-1: leaves `text` for main.
    pub(super) fn report(&mut self, from: &str, text: String, minutes: &mut Minutes) {
        let id = self.memory.reports.next;
        self.memory.reports.next = ReportId(id.0 + 1);
        let report = Report { id, at: minutes.at, from: from.to_owned(), text };
        Arc::make_mut(&mut self.memory.reports.waiting).push(report.clone());
        minutes.records.push(Record::Report(ReportChange::Left(report)));
    }

    pub(super) fn read_reports(&self, now: &Zoned) -> (Answer, Vec<Effect>) {
        (Answer::Told(read_out(&self.memory.reports.waiting, now.timestamp())), Vec::new())
    }
}
