//! Directories with one file per item: routines, reminders, webhooks.
//!
//! An unreadable file is reported with its reason and does not affect others. The id in a file
//! identifies the item; the file name is only for the user.

mod naming;
mod text_files;

use std::io::ErrorKind;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::schedule::ItemId;
use jiff::tz::TimeZone;

use super::FileError;
use crate::disk::{self, Disk};
use crate::frontmatter::{BadFile, BadText, Change, edit};

use naming::Target;
pub(super) use text_files::read_text;
pub(crate) use text_files::{is_markdown, parse_id, read_text_as};

/// An item that is stored in its own file.
pub trait Item: Sized {
    /// The directory of this kind of item.
    const DIRECTORY: &'static str;

    /// The keys that are allowed in a file.
    fn keys() -> &'static [&'static str];
    /// Parses a file. Times without an offset are in `zone`.
    fn read(text: &str, zone: &TimeZone) -> Result<Self, BadText>;
    fn to_text(&self) -> String;
    fn id(&self) -> &ItemId;
    /// The text from which the file name is derived.
    fn naming_text(&self) -> &str;
}

#[derive(Clone, Debug, PartialEq)]
pub struct ItemFile<T> {
    pub path: PathBuf,
    pub item: T,
}

/// Content of a directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing<T> {
    /// The readable items, by file name.
    pub items: Vec<ItemFile<T>>,
    /// The unreadable files and the reasons.
    pub bad: Vec<BadFile>,
}

#[derive(Clone)]
pub struct ItemDirectory<T> {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    zone: TimeZone,
    kind: PhantomData<fn() -> T>,
}

impl<T: Item> ItemDirectory<T> {
    /// The directory in the data directory `data`. Times without an offset are in `zone`.
    pub fn new(disk: Arc<dyn Disk>, data: &Path, zone: TimeZone) -> Self {
        Self { disk, dir: data.join(T::DIRECTORY), zone, kind: PhantomData }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads all files, by name. If two files have the same id, the first one counts.
    pub fn list(&self) -> Result<Listing<T>, FileError> {
        let mut listing = Listing { items: Vec::<ItemFile<T>>::new(), bad: Vec::new() };
        let mut ids = std::collections::HashMap::<ItemId, PathBuf>::new();
        for path in self.paths()? {
            match self.read(&path) {
                Ok(item) => match ids.get(item.id()) {
                    Some(first) => listing.bad.push(BadFile { path, bad: duplicate_id(first, item.id()) }),
                    None => {
                        ids.insert(item.id().clone(), path.clone());
                        listing.items.push(ItemFile { path, item });
                    }
                },
                Err(bad) => listing.bad.push(bad),
            }
        }
        Ok(listing)
    }

    pub fn read(&self, path: &Path) -> Result<T, BadFile> {
        let item = read_text(&*self.disk, path).and_then(|text| T::read(&text, &self.zone));
        item.map_err(|bad| BadFile { path: path.to_owned(), bad })
    }

    /// Writes a new item, whose id was never used, to a file named after its text. Returns the
    /// path. Existing files are not read, because there may be thousands of that name.
    pub fn add(&mut self, item: &T) -> Result<PathBuf, FileError> {
        self.write(item, |_| false)
    }

    /// Like `add`, but replaces the file of the same item if it exists. An unreadable file is not
    /// replaced.
    pub fn add_or_replace(&mut self, item: &T) -> Result<PathBuf, FileError> {
        let disk = Arc::clone(&self.disk);
        self.write(item, move |path| {
            text_files::read_id(&*disk, path).is_ok_and(|id| id.as_deref() == Some(item.id().as_str()))
        })
    }

    fn write(&mut self, item: &T, is_own: impl Fn(&Path) -> bool) -> Result<PathBuf, FileError> {
        let text = item.to_text();
        loop {
            let (path, written) = match naming::choose_path(&*self.disk, &self.dir, item, &is_own)? {
                Target::Existing(path) => {
                    let written = disk::replace(&*self.disk, &path, text.as_bytes());
                    (path, written)
                }
                Target::New(path) => {
                    let written = disk::create_new(&*self.disk, &path, text.as_bytes());
                    (path, written)
                }
            };
            match written {
                Ok(()) => return Ok(path),
                // The name was taken meanwhile; tries the next one.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(FileError::on_write(&path)(error)),
            }
        }
    }

    pub fn remove(&mut self, path: &Path) -> Result<(), FileError> {
        disk::remove(&*self.disk, path).map(drop).map_err(FileError::on_write(path))
    }

    /// Changes one key in the file of an item and preserves the rest of the text. Returns the path,
    /// or `None` if there is no such file.
    pub fn edit(&mut self, id: &str, key: &str, change: &Change) -> Result<Option<PathBuf>, FileError> {
        let Some(path) = self.find(id)? else { return Ok(None) };
        let text = self.text(&path)?;
        let edited = edit(&text, key, change).map_err(|bad| FileError::refused(&path, bad))?;
        self.rewrite(&path, &edited)?;
        Ok(Some(path))
    }

    pub fn text(&self, path: &Path) -> Result<String, FileError> {
        read_text(&*self.disk, path).map_err(|bad| FileError::refused(path, bad))
    }

    /// Replaces the text of a file if the new text is valid.
    pub fn rewrite(&mut self, path: &Path, text: &str) -> Result<(), FileError> {
        T::read(text, &self.zone).map_err(|bad| FileError::refused(path, bad))?;
        disk::replace(&*self.disk, path, text.as_bytes()).map_err(FileError::on_write(path))
    }

    /// The id in the file at `path`, even if the file is otherwise invalid.
    pub fn id_of(&self, path: &Path) -> Option<String> {
        text_files::read_id(&*self.disk, path).ok().flatten()
    }

    /// The file with the id `id`, even if it is otherwise invalid. If it is not found and a file
    /// could not be read, returns that error, because it may be that file.
    pub fn find(&self, id: &str) -> Result<Option<PathBuf>, FileError> {
        let mut failed = None;
        for path in self.paths()? {
            match text_files::read_id(&*self.disk, &path) {
                Ok(found) if found.as_deref() == Some(id) => return Ok(Some(path)),
                Ok(_) => {}
                Err(source) => failed = Some(FileError::Unreadable { path, source }),
            }
        }
        failed.map_or(Ok(None), Err)
    }

    /// Like `find`, but first tries the file where it was last `seen`, such as `reminders/tea.md`.
    /// Reads the others only if it is not there.
    pub fn locate(&self, id: &str, seen: Option<&str>) -> Result<Option<PathBuf>, FileError> {
        let seen = seen.and_then(|seen| Path::new(seen).file_name()).map(|name| self.dir.join(name));
        match seen.filter(|path| self.id_of(path).as_deref() == Some(id)) {
            Some(path) => Ok(Some(path)),
            None => self.find(id),
        }
    }

    fn paths(&self) -> Result<Vec<PathBuf>, FileError> {
        text_files::markdown_files(&*self.disk, &self.dir)
    }
}

/// The error for a file whose `id` is already used by the file `first`.
pub(crate) fn duplicate_id(first: &Path, id: &ItemId) -> BadText {
    let first = first.file_name().unwrap_or_default().to_string_lossy();
    let reason = format!("`{id}` is already the id of {first}, which comes first; give this one another id");
    BadText { field: Some("id".to_owned()), ..BadText::whole(reason) }
}
