//! All tracked job files, and which of them defines each plan.
//!
//! If several files have the same id, the first one by name counts; the others are reported as
//! duplicates. News are always the difference to what was reported before.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use domain::cost::CostSource;
use domain::schedule::{JobFileChange, PlannedJob};
use jiff::Timestamp;

use super::kind::{JobFileName, JobKind};
use super::tracked_file::{
    FileProblem, FileState, ProblemKind, ScanResult, TrackedFile, ValidJob, gone_at, settled_at,
};
use crate::disk::Stamp;
use crate::files::items::duplicate_id;

#[derive(Default)]
pub(super) struct TrackedFiles {
    files: HashMap<JobFileName, TrackedFile>,
    /// The files of each source, by name.
    files_by_source: BTreeMap<CostSource, Vec<JobFileName>>,
    /// The reported plans.
    planned: BTreeMap<CostSource, Arc<PlannedJob>>,
    /// The files that may still be being saved, and when to scan them again.
    unsettled: BTreeMap<JobFileName, Timestamp>,
    scans: u64,
    /// The last scan whose news were all reported.
    reported_scan: u64,
}

impl TrackedFiles {
    /// True until the first scan of the files.
    pub(super) fn is_new(&self) -> bool {
        self.scans == 0
    }

    /// Starts a scan of all files.
    pub(super) fn begin_scan(&mut self) {
        self.scans += 1;
    }

    /// Marks a file as found. Returns whether it is unchanged.
    pub(super) fn mark_seen(&mut self, file: &JobFileName, stamp: Stamp) -> bool {
        let Some(sheet) = self.files.get_mut(file) else { return false };
        sheet.last_scan = self.scans;
        sheet.known_stamp == Some(stamp)
    }

    /// The files that the current scan did not find.
    pub(super) fn unseen_files(&self, kind: JobKind) -> impl Iterator<Item = &JobFileName> {
        let lost = self.files.iter().filter(|(_, sheet)| sheet.last_scan != self.scans);
        lost.map(|(file, _)| file).filter(move |file| file.kind == kind)
    }

    /// The files that may still be being saved, and when to scan them again.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = (&JobFileName, Timestamp)> {
        self.unsettled.iter().map(|(file, then)| (file, *then))
    }

    /// The reported plans.
    pub(super) fn planned(&self) -> impl Iterator<Item = &Arc<PlannedJob>> {
        self.planned.values()
    }

    /// Applies scan results. Returns the news for all affected sources.
    pub(super) fn apply(
        &mut self,
        found: Vec<(JobFileName, ScanResult)>,
        now: Timestamp,
    ) -> Vec<JobFileChange> {
        let mut news = Vec::new();
        let mut plans = Vec::new();
        let mut concerned = Vec::new();
        let mut touched = Vec::new();
        for (file, found) in found {
            concerned.extend(self.update_file(&file, found));
            news.extend(self.remove_if_gone(&file, now));
            touched.push(file);
        }
        sort_and_dedup(&mut concerned);
        for source in concerned {
            plans.extend(self.update_plan(&source));
            touched.extend(self.files_by_source.get(&source).into_iter().flatten().cloned());
        }
        sort_and_dedup(&mut touched);
        news.extend(touched.iter().filter_map(|file| self.report_problem(file, now)));
        news.extend(plans);
        self.reported_scan = self.scans;
        news
    }

    /// Applies the scan result of one file. Returns the sources it had or has.
    fn update_file(&mut self, file: &JobFileName, found: ScanResult) -> Vec<CostSource> {
        let mut concerned = Vec::new();
        match self.files.get_mut(file) {
            Some(sheet) => {
                concerned.extend(sheet.sources().cloned());
                sheet.update(found);
            }
            None if found.is_missing() => return concerned,
            None => {
                self.files.insert(file.clone(), TrackedFile::new(found, self.scans));
            }
        }
        for source in &concerned {
            self.unlink(source, file);
        }
        for source in self.files.get(file).into_iter().flat_map(TrackedFile::sources) {
            let files = self.files_by_source.entry(source.clone()).or_default();
            if let Err(place) = files.binary_search(file) {
                files.insert(place, file.clone());
            }
            concerned.push(source.clone());
        }
        concerned
    }

    /// Removes a file that is gone.
    fn remove_if_gone(&mut self, file: &JobFileName, now: Timestamp) -> Option<JobFileChange> {
        let sheet =
            self.files.get(file).filter(|sheet| sheet.is_missing() && gone_at(sheet.since()) <= now)?;
        let sources: Vec<CostSource> = sheet.sources().cloned().collect();
        for source in &sources {
            self.unlink(source, file);
        }
        self.unsettled.remove(file);
        let sheet = self.files.remove(file)?;
        sheet.reported.map(|_| JobFileChange::Repaired(file.to_string()))
    }

    fn unlink(&mut self, source: &CostSource, file: &JobFileName) {
        let Some(files) = self.files_by_source.get_mut(source) else { return };
        files.retain(|held| held != file);
        if files.is_empty() {
            self.files_by_source.remove(source);
        }
    }

    /// Updates the plan of `source`.
    fn update_plan(&mut self, source: &CostSource) -> Option<JobFileChange> {
        self.carry_over_plan(source);
        let first = self.defining_file(source).and_then(|(_, sheet)| sheet.last_valid.as_ref());
        let first = first.map(|good| Arc::clone(&good.planned));
        match (self.planned.get(source), first) {
            (Some(before), Some(now)) if *before == now => None,
            (_, Some(now)) => {
                warn_of_ignored(&now);
                self.planned.insert(source.clone(), Arc::clone(&now));
                Some(JobFileChange::Planned(now))
            }
            (_, None) => self.planned.remove(source).map(|_| JobFileChange::Removed(source.clone())),
        }
    }

    /// The file that defines the plan of `source`: the first by name, preferring existing ones.
    fn defining_file(&self, source: &CostSource) -> Option<(&JobFileName, &TrackedFile)> {
        let holders = self.files_by_source.get(source)?.iter();
        let sheets = holders.filter_map(|file| Some((file, self.files.get(file)?)));
        // `min_by_key` returns the first of equal elements.
        sheets.filter(|(_, sheet)| sheet.defines(source)).min_by_key(|(_, sheet)| sheet.is_missing())
    }

    /// Keeps the plan of a removed file if an invalid file has the same id, because it was only
    /// moved.
    fn carry_over_plan(&mut self, source: &CostSource) {
        if self.defining_file(source).is_some() {
            return;
        }
        let Some(planned) = self.planned.get(source) else { return };
        let heirs = self.files_by_source.get(source).into_iter().flatten();
        let mut heirs =
            heirs.filter(|file| self.files.get(*file).is_some_and(|sheet| sheet.last_valid.is_none()));
        if let Some(heir) = heirs.next()
            && let Some(sheet) = self.files.get_mut(heir)
        {
            sheet.last_valid = Some(ValidJob::new(planned.spec.clone(), heir));
        }
    }

    /// Reports a problem of a file once it is settled, or that it no longer has one.
    fn report_problem(&mut self, file: &JobFileName, now: Timestamp) -> Option<JobFileChange> {
        self.unsettled.remove(file);
        let wrong = self.current_problem(file);
        let sheet = self.files.get_mut(file)?;
        let Some((complaint, since)) = wrong else {
            if sheet.is_missing() {
                self.unsettled.insert(file.clone(), gone_at(sheet.since()));
                return None;
            }
            return sheet.reported.take().map(|_| JobFileChange::Repaired(file.to_string()));
        };
        if sheet.reported.as_ref() == Some(&complaint) {
            return None;
        }
        // At the first scan its earlier plan is unknown, so a problem is reported immediately.
        if settled_at(since) > now && self.reported_scan > 0 {
            self.unsettled.insert(file.clone(), settled_at(since));
            return None;
        }
        let source = sheet.sources().last().cloned();
        let why = complaint.why.clone();
        let matter = complaint.kind;
        let name = file.to_string();
        sheet.reported = Some(complaint);
        match matter {
            ProblemKind::Unusable => {
                tracing::warn!(%file, "left out: {why}");
                Some(JobFileChange::Invalid { file: name, source, reason: why, reported_before: false })
            }
            ProblemKind::Unaccepted => {
                tracing::warn!(%file, "{why}");
                Some(JobFileChange::Withheld { file: name, reason: why, reported_before: false })
            }
        }
    }

    /// The problem of an existing file, and since when.
    fn current_problem(&self, file: &JobFileName) -> Option<(FileProblem, Timestamp)> {
        let sheet = self.files.get(file)?;
        match &sheet.state {
            FileState::Missing { .. } => None,
            FileState::Invalid { since, problem: complaint, .. } => Some((complaint.clone(), *since)),
            FileState::Valid { since } => {
                let good = sheet.last_valid.as_ref()?;
                let Some((first, other)) =
                    self.defining_file(&good.source).filter(|(first, _)| *first != file)
                else {
                    let why = good.notice()?;
                    return Some((FileProblem { kind: ProblemKind::Unaccepted, why, content: 0 }, *since));
                };
                let why = duplicate_id(Path::new(&first.name), good.planned.id()).to_string();
                let complaint = FileProblem { kind: ProblemKind::Unusable, why, content: 0 };
                Some((complaint, other.since().max(*since)))
            }
        }
    }
}

/// BF-10: warns about keys that have no effect.
fn warn_of_ignored(planned: &PlannedJob) {
    let ignored = planned.target().ignored_fields();
    if !ignored.is_empty() {
        let file = &planned.file;
        let ignored = ignored.join("`, `");
        tracing::warn!(%file, "`{ignored}` has no effect without `background: true`.");
    }
}

/// Sorts and removes duplicates.
fn sort_and_dedup<T: Ord>(things: &mut Vec<T>) {
    things.sort_unstable();
    things.dedup();
}
