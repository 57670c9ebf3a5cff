//! A directory of files that each say one thing: routines, reminders, webhooks.
//!
//! A file that cannot be read is named with its reason and harms nobody else. The id in a file is who it is; the
//! name of a file is only for people.

mod naming;
mod reading;

use std::io::ErrorKind;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::schedule::ItemId;
use jiff::tz::TimeZone;

use super::Trouble;
use crate::disk::{self, Disk};
use crate::frontmatter::{BadFile, BadText, Change, edit};

use naming::Spot;
pub(super) use reading::text_of;
pub(crate) use reading::{id_in, is_markdown, text_at};

/// Something that has a file of its own.
pub trait Item: Sized {
    /// The directory of its kind.
    const DIRECTORY: &'static str;

    /// The keys that its file may have.
    fn keys() -> &'static [&'static str];
    /// Reads a file. A time without an offset is one in `zone`.
    fn read(text: &str, zone: &TimeZone) -> Result<Self, BadText>;
    /// The text of a new file.
    fn to_text(&self) -> String;
    /// Who it is.
    fn id(&self) -> &ItemId;
    /// What its file is named after.
    fn words(&self) -> &str;
}

/// An item and its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Filed<T> {
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub item: T,
}

/// What is in a directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing<T> {
    /// What can be read, by file name.
    pub items: Vec<Filed<T>>,
    /// What is left out, and why.
    pub bad: Vec<BadFile>,
}

/// A directory of items of one kind.
#[derive(Clone)]
pub struct Items<T> {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    zone: TimeZone,
    kind: PhantomData<fn() -> T>,
}

impl<T: Item> Items<T> {
    /// The directory in the data directory `data`. Times without an offset are times in `zone`.
    pub fn new(disk: Arc<dyn Disk>, data: &Path, zone: TimeZone) -> Self {
        Self { disk, dir: data.join(T::DIRECTORY), zone, kind: PhantomData }
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads all files, by name. Of two files with one id the first is taken.
    pub fn list(&self) -> Result<Listing<T>, Trouble> {
        let mut listing = Listing { items: Vec::<Filed<T>>::new(), bad: Vec::new() };
        let mut ids = std::collections::HashMap::<ItemId, PathBuf>::new();
        for path in self.paths()? {
            match self.read(&path) {
                Ok(item) => match ids.get(item.id()) {
                    Some(first) => listing.bad.push(BadFile { path, bad: twin_of(first, item.id()) }),
                    None => {
                        ids.insert(item.id().clone(), path.clone());
                        listing.items.push(Filed { path, item });
                    }
                },
                Err(bad) => listing.bad.push(bad),
            }
        }
        Ok(listing)
    }

    /// Reads one file.
    pub fn read(&self, path: &Path) -> Result<T, BadFile> {
        let item = text_of(&*self.disk, path).and_then(|text| T::read(&text, &self.zone));
        item.map_err(|bad| BadFile { path: path.to_owned(), bad })
    }

    /// Writes an item that is new, with an id that nobody had, to a file named after its words, and gives that file.
    /// The files of others are left alone, and not even read: there may be thousands with these words.
    pub fn add(&mut self, item: &T) -> Result<PathBuf, Trouble> {
        self.write(item, |_| false)
    }

    /// The same for an item that may have its file already: that is replaced. A file that cannot be read is somebody
    /// else's.
    pub fn put(&mut self, item: &T) -> Result<PathBuf, Trouble> {
        let disk = Arc::clone(&self.disk);
        self.write(item, move |path| {
            reading::id_of(&*disk, path).is_ok_and(|id| id.as_deref() == Some(item.id().as_str()))
        })
    }

    fn write(&mut self, item: &T, is_own: impl Fn(&Path) -> bool) -> Result<PathBuf, Trouble> {
        let text = item.to_text();
        loop {
            let (path, written) = match naming::spot(&*self.disk, &self.dir, item, &is_own)? {
                Spot::Own(path) => {
                    let written = disk::replace(&*self.disk, &path, text.as_bytes());
                    (path, written)
                }
                Spot::New(path) => {
                    let written = disk::add(&*self.disk, &path, text.as_bytes());
                    (path, written)
                }
            };
            match written {
                Ok(()) => return Ok(path),
                // Somebody was quicker: their file is there now, and the next name is tried.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Trouble::writing(&path)(error)),
            }
        }
    }

    /// Removes a file.
    pub fn remove(&mut self, path: &Path) -> Result<(), Trouble> {
        disk::remove(&*self.disk, path).map(drop).map_err(Trouble::writing(path))
    }

    /// Changes one key in the file of an item and leaves all else as the human wrote it. The file is given, or
    /// nothing, if there is none.
    pub fn edit(&mut self, id: &str, key: &str, change: &Change) -> Result<Option<PathBuf>, Trouble> {
        let Some(path) = self.find(id)? else { return Ok(None) };
        let text = self.text(&path)?;
        let edited = edit(&text, key, change).map_err(|bad| Trouble::refused(&path, bad))?;
        self.rewrite(&path, &edited)?;
        Ok(Some(path))
    }

    /// The text of a file.
    pub fn text(&self, path: &Path) -> Result<String, Trouble> {
        text_of(&*self.disk, path).map_err(|bad| Trouble::refused(path, bad))
    }

    /// Gives a file another text, if that can be read.
    pub fn rewrite(&mut self, path: &Path, text: &str) -> Result<(), Trouble> {
        T::read(text, &self.zone).map_err(|bad| Trouble::refused(path, bad))?;
        disk::replace(&*self.disk, path, text.as_bytes()).map_err(Trouble::writing(path))
    }

    /// The id that the file at `path` says it has, whatever else is wrong with it.
    pub fn id_of(&self, path: &Path) -> Option<String> {
        reading::id_of(&*self.disk, path).ok().flatten()
    }

    /// The file whose id is `id`, whatever else is wrong with it. If none is found and the disk failed on one,
    /// it could have been that one, so the failure is told.
    pub fn find(&self, id: &str) -> Result<Option<PathBuf>, Trouble> {
        let mut failed = None;
        for path in self.paths()? {
            match reading::id_of(&*self.disk, &path) {
                Ok(found) if found.as_deref() == Some(id) => return Ok(Some(path)),
                Ok(_) => {}
                Err(source) => failed = Some(Trouble::Unreadable { path, source }),
            }
        }
        failed.map_or(Ok(None), Err)
    }

    /// The same, if it was last `seen` under this name, such as `reminders/tea.md`: all others are read only if it is
    /// not there any more.
    pub fn locate(&self, id: &str, seen: Option<&str>) -> Result<Option<PathBuf>, Trouble> {
        let seen = seen.and_then(|seen| Path::new(seen).file_name()).map(|name| self.dir.join(name));
        match seen.filter(|path| self.id_of(path).as_deref() == Some(id)) {
            Some(path) => Ok(Some(path)),
            None => self.find(id),
        }
    }

    fn paths(&self) -> Result<Vec<PathBuf>, Trouble> {
        reading::markdown(&*self.disk, &self.dir)
    }
}

/// What is wrong with a file whose `id` is that of the file `first`.
pub(crate) fn twin_of(first: &Path, id: &ItemId) -> BadText {
    let first = first.file_name().unwrap_or_default().to_string_lossy();
    let reason = format!("`{id}` is already the id of {first}, which comes first; give this one another id");
    BadText { field: Some("id".to_owned()), ..BadText::whole(reason) }
}
