//! The shelf: all job files as they were last seen, and which of them counts.
//!
//! Of the files that are one routine or one reminder the first by name counts; the others are told of as twins.
//! What is told is always the difference to what was told before.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::cost::Source;
use domain::schedule::{FileNews, Planned};
use jiff::Timestamp;

use super::kind::Kind;
use super::sheet::{Complaint, Found, Sheet, State, settled};
use crate::disk::Stamp;
use crate::files::items::twin_of;

/// All job files.
#[derive(Default)]
pub(super) struct Shelf {
    sheets: HashMap<PathBuf, Sheet>,
    /// Whose files are where.
    holders: BTreeMap<Source, BTreeSet<PathBuf>>,
    /// What was told to be planned.
    planned: BTreeMap<Source, Arc<Planned>>,
    /// The files that may still settle, and when they are looked at again.
    waiting: BTreeMap<PathBuf, Timestamp>,
    looks: u64,
}

impl Shelf {
    /// All files are looked at from here on.
    pub(super) fn begin_look(&mut self) {
        self.looks += 1;
    }

    /// Whether a file that is there is as it was.
    pub(super) fn recognise(&mut self, path: &Path, stamp: Stamp) -> bool {
        let Some(sheet) = self.sheets.get_mut(path) else { return false };
        sheet.seen_in = self.looks;
        sheet.known == Some(stamp)
    }

    /// The files that were there before and that this look did not come by.
    pub(super) fn unseen(&self, kind: Kind) -> impl Iterator<Item = &Path> {
        let lost =
            self.sheets.iter().filter(move |(_, sheet)| sheet.kind == kind && sheet.seen_in != self.looks);
        lost.map(|(path, _)| path.as_path())
    }

    /// The files that may still settle, and when they should be looked at again.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&Path, Timestamp)> {
        self.waiting.iter().map(|(path, then)| (path.as_path(), *then))
    }

    /// What was told to be planned.
    pub(super) fn planned(&self) -> impl Iterator<Item = &Arc<Planned>> {
        self.planned.values()
    }

    /// Takes what was found, and tells what follows for everybody concerned.
    pub(super) fn settle(&mut self, found: Vec<(PathBuf, Found)>, now: Timestamp) -> Vec<FileNews> {
        let (mut news, mut plans) = (Vec::new(), Vec::new());
        let (mut concerned, mut touched) = (BTreeSet::new(), BTreeSet::new());
        for (path, found) in found {
            concerned.extend(self.take(&path, found));
            news.extend(self.forget(&path, now));
            touched.insert(path);
        }
        for source in concerned {
            plans.extend(self.plan(&source));
            touched.extend(self.holders.get(&source).into_iter().flatten().cloned());
        }
        news.extend(touched.iter().filter_map(|path| self.complain(path, now)));
        news.extend(plans);
        news
    }

    /// Takes what was found of one file, and gives everybody whose file it was or is.
    fn take(&mut self, path: &Path, found: Found) -> BTreeSet<Source> {
        let mut concerned = BTreeSet::new();
        match self.sheets.get_mut(path) {
            Some(sheet) => {
                concerned.extend(sheet.sources());
                sheet.take(found);
            }
            None if found.is_missing() => return concerned,
            None => {
                self.sheets.insert(path.to_owned(), Sheet::new(found, self.looks));
            }
        }
        for source in &concerned {
            self.let_go(source, path);
        }
        let now = self.sheets.get(path).map(|sheet| sheet.sources().collect::<Vec<_>>());
        for source in now.into_iter().flatten() {
            self.holders.entry(source.clone()).or_default().insert(path.to_owned());
            concerned.insert(source);
        }
        concerned
    }

    /// Forgets a file that stays away.
    fn forget(&mut self, path: &Path, now: Timestamp) -> Option<FileNews> {
        let sheet =
            self.sheets.get(path).filter(|sheet| sheet.is_missing() && settled(sheet.since()) <= now)?;
        let sources: Vec<Source> = sheet.sources().collect();
        for source in &sources {
            self.let_go(source, path);
        }
        self.waiting.remove(path);
        let sheet = self.sheets.remove(path)?;
        sheet.told.map(|_| FileNews::Mended(sheet.file))
    }

    fn let_go(&mut self, source: &Source, path: &Path) {
        let Some(paths) = self.holders.get_mut(source) else { return };
        paths.remove(path);
        if paths.is_empty() {
            self.holders.remove(source);
        }
    }

    /// Settles what is planned for one of them.
    fn plan(&mut self, source: &Source) -> Option<FileNews> {
        self.pass_on(source);
        let first = self.first(source).and_then(|(_, sheet)| sheet.good.clone());
        match (self.planned.get(source), first) {
            (Some(before), Some(now)) if *before == now => None,
            (_, Some(now)) => {
                self.planned.insert(source.clone(), Arc::clone(&now));
                Some(FileNews::Plans(now))
            }
            (_, None) => self.planned.remove(source).map(|_| FileNews::Gone(source.clone())),
        }
    }

    /// The file that counts for `source`: the first by name of those that are there.
    fn first(&self, source: &Source) -> Option<(&Path, &Sheet)> {
        let holders = self.holders.get(source)?.iter();
        let sheets = holders.filter_map(|path| Some((path.as_path(), self.sheets.get(path)?)));
        // It is the first of equals that is taken.
        sheets.filter(|(_, sheet)| sheet.plans(source)).min_by_key(|(_, sheet)| sheet.is_missing())
    }

    /// Who was planned by a file that is gone, and is named by one that cannot be read, was only moved.
    fn pass_on(&mut self, source: &Source) {
        if self.first(source).is_some() {
            return;
        }
        let Some(planned) = self.planned.get(source) else { return };
        let heirs = self.holders.get(source).into_iter().flatten();
        let mut heirs = heirs.filter(|path| self.sheets.get(*path).is_some_and(|sheet| sheet.good.is_none()));
        if let Some(sheet) = heirs.next().and_then(|heir| self.sheets.get_mut(heir)) {
            let what = planned.what.clone();
            sheet.good = Some(Arc::new(Planned { what, file: sheet.file.clone() }));
        }
    }

    /// Tells what is wrong with a file, once, when it had the time to settle; or that nothing is any more.
    fn complain(&mut self, path: &Path, now: Timestamp) -> Option<FileNews> {
        self.waiting.remove(path);
        let wrong = self.wrong(path);
        let sheet = self.sheets.get_mut(path)?;
        let Some((complaint, since)) = wrong else {
            if sheet.is_missing() {
                self.waiting.insert(path.to_owned(), settled(sheet.since()));
                return None;
            }
            return sheet.told.take().map(|_| FileNews::Mended(sheet.file.clone()));
        };
        if sheet.told.as_ref() == Some(&complaint) {
            return None;
        }
        // At the first look nobody knows what it planned before, so that it cannot be read must not wait.
        if settled(since) > now && self.looks > 1 {
            self.waiting.insert(path.to_owned(), settled(since));
            return None;
        }
        let (file, source, why) = (sheet.file.clone(), sheet.sources().last(), complaint.why.clone());
        sheet.told = Some(complaint);
        Some(FileNews::Broken { file, source, why })
    }

    /// What is wrong with a file that is there, and since when.
    fn wrong(&self, path: &Path) -> Option<(Complaint, Timestamp)> {
        let sheet = self.sheets.get(path)?;
        match &sheet.state {
            State::Missing { .. } => None,
            State::Bad { since, complaint, .. } => Some((complaint.clone(), *since)),
            State::Fine { since } => {
                let planned = sheet.good.as_ref()?;
                let (first, other) = self.first(&planned.source()).filter(|(first, _)| *first != path)?;
                let why = twin_of(first, planned.id()).to_string();
                Some((Complaint { why, content: 0 }, other.since().max(*since)))
            }
        }
    }
}
