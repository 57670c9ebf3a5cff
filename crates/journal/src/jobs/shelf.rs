//! The shelf: all job files as they were last seen, and which of them counts.
//!
//! Of the files that are one routine or one reminder the first by name counts; the others are told of as twins.
//! What is told is always the difference to what was told before.

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

/// All job files.
#[derive(Default)]
pub(super) struct Shelf {
    sheets: HashMap<FileName, Sheet>,
    /// Who has which files, by name.
    holders: BTreeMap<Source, Vec<FileName>>,
    /// What was told to be planned.
    planned: BTreeMap<Source, Arc<Planned>>,
    /// The files that may still settle, and when they are looked at again.
    waiting: BTreeMap<FileName, Timestamp>,
    looks: u64,
    /// The last look of which everything was told.
    told_of: u64,
}

impl Shelf {
    /// True until the first scan of the files.
    pub(super) fn is_new(&self) -> bool {
        self.looks == 0
    }

    /// All files are looked at from here on.
    pub(super) fn begin_look(&mut self) {
        self.looks += 1;
    }

    /// Whether a file that is there is as it was.
    pub(super) fn recognise(&mut self, file: &FileName, stamp: Stamp) -> bool {
        let Some(sheet) = self.sheets.get_mut(file) else { return false };
        sheet.seen_in = self.looks;
        sheet.known == Some(stamp)
    }

    /// The files that were there before and that this look did not come by.
    pub(super) fn unseen(&self, kind: Kind) -> impl Iterator<Item = &FileName> {
        let lost = self.sheets.iter().filter(|(_, sheet)| sheet.seen_in != self.looks);
        lost.map(|(file, _)| file).filter(move |file| file.kind == kind)
    }

    /// The files that may still settle, and when they should be looked at again.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&FileName, Timestamp)> {
        self.waiting.iter().map(|(file, then)| (file, *then))
    }

    /// What was told to be planned.
    pub(super) fn planned(&self) -> impl Iterator<Item = &Arc<Planned>> {
        self.planned.values()
    }

    /// Takes what was found, and tells what follows for everybody concerned.
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

    /// Takes what was found of one file, and gives everybody whose file it was or is.
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

    /// Forgets a file that stays away.
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

    /// Settles what is planned for one of them.
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

    /// The file that counts for `source`: the first by name of those that are there.
    fn first(&self, source: &Source) -> Option<(&FileName, &Sheet)> {
        let holders = self.holders.get(source)?.iter();
        let sheets = holders.filter_map(|file| Some((file, self.sheets.get(file)?)));
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
        let mut heirs = heirs.filter(|file| self.sheets.get(*file).is_some_and(|sheet| sheet.good.is_none()));
        if let Some(heir) = heirs.next()
            && let Some(sheet) = self.sheets.get_mut(heir)
        {
            sheet.good = Some(Good::new(planned.what.clone(), heir));
        }
    }

    /// Tells what is wrong with a file, once, when it had the time to settle; or that nothing is any more.
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
        // At the first look nobody knows what it planned before, so that it cannot be read must not wait.
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

    /// What is wrong with a file that is there, and since when.
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

/// BF-10: who wrote down what has no effect may want to know.
fn warn_of_ignored(planned: &Planned) {
    let ignored = planned.charter().ignored();
    if !ignored.is_empty() {
        let file = &planned.file;
        let ignored = ignored.join("`, `");
        tracing::warn!(%file, "`{ignored}` has no effect without `background: true`.");
    }
}

/// Puts in order, each once.
fn sort<T: Ord>(things: &mut Vec<T>) {
    things.sort_unstable();
    things.dedup();
}
