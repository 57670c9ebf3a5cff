//! All tracked job files, and which of them defines each plan.
//!
//! If several files have the same id, the first one by name counts; the others are reported as
//! duplicates. News are always the difference to what was reported before.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use domain::cost::Source;
use domain::schedule::{FileNews, Planned};
use jiff::Timestamp;

use super::kind::{FileName, Kind};
use super::sheet::{Complaint, Found, Good, Matter, Sheet, State, gone_at, settled};
use crate::disk::Stamp;
use crate::files::items::twin_of;

#[derive(Default)]
pub(super) struct Shelf {
    sheets: HashMap<FileName, Sheet>,
    /// The files of each source, by name.
    holders: BTreeMap<Source, Vec<FileName>>,
    /// The reported plans.
    planned: BTreeMap<Source, Arc<Planned>>,
    /// The files that may still be being saved, and when to scan them again.
    waiting: BTreeMap<FileName, Timestamp>,
    looks: u64,
    /// The last scan whose news were all reported.
    told_of: u64,
}

impl Shelf {
    /// True until the first scan of the files.
    pub(super) fn is_new(&self) -> bool {
        self.looks == 0
    }

    /// Starts a scan of all files.
    pub(super) fn begin_look(&mut self) {
        self.looks += 1;
    }

    /// Marks a file as found. Returns whether it is unchanged.
    pub(super) fn recognise(&mut self, file: &FileName, stamp: Stamp) -> bool {
        let Some(sheet) = self.sheets.get_mut(file) else { return false };
        sheet.seen_in = self.looks;
        sheet.known == Some(stamp)
    }

    /// The files that the current scan did not find.
    pub(super) fn unseen(&self, kind: Kind) -> impl Iterator<Item = &FileName> {
        let lost = self.sheets.iter().filter(|(_, sheet)| sheet.seen_in != self.looks);
        lost.map(|(file, _)| file).filter(move |file| file.kind == kind)
    }

    /// The files that may still be being saved, and when to scan them again.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&FileName, Timestamp)> {
        self.waiting.iter().map(|(file, then)| (file, *then))
    }

    /// The reported plans.
    pub(super) fn planned(&self) -> impl Iterator<Item = &Arc<Planned>> {
        self.planned.values()
    }

    /// Applies scan results. Returns the news for all affected sources.
    pub(super) fn settle(&mut self, found: Vec<(FileName, Found)>, now: Timestamp) -> Vec<FileNews> {
        let mut news = Vec::new();
        let mut plans = Vec::new();
        let mut concerned = Vec::new();
        let mut touched = Vec::new();
        for (file, found) in found {
            concerned.extend(self.take(&file, found));
            news.extend(self.forget(&file, now));
            touched.push(file);
        }
        sort(&mut concerned);
        for source in concerned {
            plans.extend(self.plan(&source));
            touched.extend(self.holders.get(&source).into_iter().flatten().cloned());
        }
        sort(&mut touched);
        news.extend(touched.iter().filter_map(|file| self.complain(file, now)));
        news.extend(plans);
        self.told_of = self.looks;
        news
    }

    /// Applies the scan result of one file. Returns the sources it had or has.
    fn take(&mut self, file: &FileName, found: Found) -> Vec<Source> {
        let mut concerned = Vec::new();
        match self.sheets.get_mut(file) {
            Some(sheet) => {
                concerned.extend(sheet.sources().cloned());
                sheet.take(found);
            }
            None if found.is_missing() => return concerned,
            None => {
                self.sheets.insert(file.clone(), Sheet::new(found, self.looks));
            }
        }
        for source in &concerned {
            self.let_go(source, file);
        }
        for source in self.sheets.get(file).into_iter().flat_map(Sheet::sources) {
            let files = self.holders.entry(source.clone()).or_default();
            if let Err(place) = files.binary_search(file) {
                files.insert(place, file.clone());
            }
            concerned.push(source.clone());
        }
        concerned
    }

    /// Removes a file that is gone.
    fn forget(&mut self, file: &FileName, now: Timestamp) -> Option<FileNews> {
        let sheet =
            self.sheets.get(file).filter(|sheet| sheet.is_missing() && gone_at(sheet.since()) <= now)?;
        let sources: Vec<Source> = sheet.sources().cloned().collect();
        for source in &sources {
            self.let_go(source, file);
        }
        self.waiting.remove(file);
        let sheet = self.sheets.remove(file)?;
        sheet.told.map(|_| FileNews::Mended(file.to_string()))
    }

    fn let_go(&mut self, source: &Source, file: &FileName) {
        let Some(files) = self.holders.get_mut(source) else { return };
        files.retain(|held| held != file);
        if files.is_empty() {
            self.holders.remove(source);
        }
    }

    /// Updates the plan of `source`.
    fn plan(&mut self, source: &Source) -> Option<FileNews> {
        self.pass_on(source);
        let first = self.first(source).and_then(|(_, sheet)| sheet.good.as_ref());
        let first = first.map(|good| Arc::clone(&good.planned));
        match (self.planned.get(source), first) {
            (Some(before), Some(now)) if *before == now => None,
            (_, Some(now)) => {
                warn_of_ignored(&now);
                self.planned.insert(source.clone(), Arc::clone(&now));
                Some(FileNews::Plans(now))
            }
            (_, None) => self.planned.remove(source).map(|_| FileNews::Gone(source.clone())),
        }
    }

    /// The file that defines the plan of `source`: the first by name, preferring existing ones.
    fn first(&self, source: &Source) -> Option<(&FileName, &Sheet)> {
        let holders = self.holders.get(source)?.iter();
        let sheets = holders.filter_map(|file| Some((file, self.sheets.get(file)?)));
        // `min_by_key` returns the first of equal elements.
        sheets.filter(|(_, sheet)| sheet.plans(source)).min_by_key(|(_, sheet)| sheet.is_missing())
    }

    /// Keeps the plan of a removed file if an invalid file has the same id, because it was only
    /// moved.
    fn pass_on(&mut self, source: &Source) {
        if self.first(source).is_some() {
            return;
        }
        let Some(planned) = self.planned.get(source) else { return };
        let heirs = self.holders.get(source).into_iter().flatten();
        let mut heirs = heirs.filter(|file| self.sheets.get(*file).is_some_and(|sheet| sheet.good.is_none()));
        if let Some(heir) = heirs.next()
            && let Some(sheet) = self.sheets.get_mut(heir)
        {
            sheet.good = Some(Good::new(planned.what.clone(), heir));
        }
    }

    /// Reports a problem of a file once it is settled, or that it no longer has one.
    fn complain(&mut self, file: &FileName, now: Timestamp) -> Option<FileNews> {
        self.waiting.remove(file);
        let wrong = self.wrong(file);
        let sheet = self.sheets.get_mut(file)?;
        let Some((complaint, since)) = wrong else {
            if sheet.is_missing() {
                self.waiting.insert(file.clone(), gone_at(sheet.since()));
                return None;
            }
            return sheet.told.take().map(|_| FileNews::Mended(file.to_string()));
        };
        if sheet.told.as_ref() == Some(&complaint) {
            return None;
        }
        // At the first scan its earlier plan is unknown, so a problem is reported immediately.
        if settled(since) > now && self.told_of > 0 {
            self.waiting.insert(file.clone(), settled(since));
            return None;
        }
        let source = sheet.sources().last().cloned();
        let why = complaint.why.clone();
        let matter = complaint.matter;
        let name = file.to_string();
        sheet.told = Some(complaint);
        match matter {
            Matter::Unusable => {
                tracing::warn!(%file, "left out: {why}");
                Some(FileNews::Broken { file: name, source, why, told_before: false })
            }
            Matter::Asking => {
                tracing::warn!(%file, "{why}");
                Some(FileNews::Held { file: name, why, told_before: false })
            }
        }
    }

    /// The problem of an existing file, and since when.
    fn wrong(&self, file: &FileName) -> Option<(Complaint, Timestamp)> {
        let sheet = self.sheets.get(file)?;
        match &sheet.state {
            State::Missing { .. } => None,
            State::Bad { since, complaint, .. } => Some((complaint.clone(), *since)),
            State::Fine { since } => {
                let good = sheet.good.as_ref()?;
                let Some((first, other)) = self.first(&good.source).filter(|(first, _)| *first != file)
                else {
                    let why = good.remarks()?;
                    return Some((Complaint { matter: Matter::Asking, why, content: 0 }, *since));
                };
                let why = twin_of(Path::new(&first.name), good.planned.id()).to_string();
                let complaint = Complaint { matter: Matter::Unusable, why, content: 0 };
                Some((complaint, other.since().max(*since)))
            }
        }
    }
}

/// BF-10: warns about keys that have no effect.
fn warn_of_ignored(planned: &Planned) {
    let ignored = planned.charter().ignored();
    if !ignored.is_empty() {
        let file = &planned.file;
        let ignored = ignored.join("`, `");
        tracing::warn!(%file, "`{ignored}` has no effect without `background: true`.");
    }
}

/// Sorts and removes duplicates.
fn sort<T: Ord>(things: &mut Vec<T>) {
    things.sort_unstable();
    things.dedup();
}
