//! Finds and reads notes: text files in the data directory that are not job files.

use std::path::{Path, PathBuf};

use journal::disk::FileKind;
use surfaces::web::job_files::JobFileError;
use surfaces::web::notes::{Note, NoteList};

use super::{JobFileStore, MAX_FILE_BYTES};

/// The most notes that are listed.
const MAX_NOTES: usize = 200;
/// The greatest depth of the search.
const MAX_DEPTH: usize = 4;

impl JobFileStore {
    /// Lists the notes.
    pub(super) fn all_notes(&self) -> NoteList {
        let mut found = Vec::new();
        let mut places: Vec<(PathBuf, usize)> = vec![(self.root.clone(), 0)];
        while let Some((place, depth)) = places.pop() {
            // Unreadable directories are skipped.
            for listed in self.disk.list(&place).unwrap_or_default() {
                match (listed.stamp.kind, self.real_name(&listed.path)) {
                    (Some(FileKind::File(bytes)), Some(name)) => {
                        found.extend(Note::parse(&name).map(|note| (note, bytes)))
                    }
                    (Some(FileKind::Directory), Some(name))
                        if depth < MAX_DEPTH && Note::parse(&format!("{name}/x.md")).is_some() =>
                    {
                        places.push((listed.path, depth + 1));
                    }
                    (Some(_) | None, _) => {}
                }
            }
            if found.len() > MAX_NOTES {
                break;
            }
        }
        found.sort();
        found.dedup();
        let more = found.len() > MAX_NOTES;
        found.truncate(MAX_NOTES);
        NoteList { notes: found, truncated: more }
    }

    /// Returns the text of `note`. A symlink is followed only to a file that could be named itself.
    pub(super) fn note_text(&self, note: &Note) -> Result<String, JobFileError> {
        let name = note.as_str();
        let failed = |why: &dyn std::fmt::Display| JobFileError::Io(format!("{name}: {why}."));
        let path = self.root.join(name);
        match self.disk.file_kind(&path).map_err(|error| failed(&error))? {
            Some(FileKind::File(..=MAX_FILE_BYTES)) => {}
            Some(FileKind::File(_)) => return Err(failed(&"it is larger than 1 MB; open it with an editor")),
            Some(FileKind::Directory | FileKind::Other) => return Err(failed(&"it is no file to read")),
            None => return Err(JobFileError::Missing(name.to_owned())),
        }
        if self.real_name(&path).is_none_or(|name| Note::parse(&name).is_none()) {
            return Err(JobFileError::Missing(name.to_owned()));
        }
        let bytes = self.disk.read(&path).map_err(|error| failed(&error))?;
        String::from_utf8(bytes).map_err(|_| failed(&"it is not text (UTF-8); open it with another program"))
    }

    /// Returns the path of the real file at `path`, relative to the data directory.
    fn real_name(&self, path: &Path) -> Option<String> {
        let root = self.disk.canonicalize(&self.root).ok()?;
        let real = self.disk.canonicalize(path).ok()?;
        real.strip_prefix(root).ok()?.to_str().map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::tz::TimeZone;
    use journal::disk::RealDisk;

    use super::*;

    /// Notes are found in all directories, but no secrets, hidden or internal files, and no
    /// symlinks to them.
    #[test]
    fn only_notes_are_found() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("data");
        for (name, text) in [
            ("tasks.md", "- [ ] milk"),
            ("notes/trips/lisbon.md", "the flat is at 12, rua x"),
            ("state/key.md", "secret"),
            ("notes/.hidden.md", "secret"),
            ("notes/picture.png", "no text"),
        ] {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), text).unwrap();
        }
        std::fs::write(home.path().join("outside.md"), "secret").unwrap();
        std::os::unix::fs::symlink(root.join("state/key.md"), root.join("notes/key.md")).unwrap();
        std::os::unix::fs::symlink(home.path().join("outside.md"), root.join("notes/out.md")).unwrap();
        std::os::unix::fs::symlink(&root, root.join("notes/round")).unwrap();
        let shelf = JobFileStore { disk: Arc::new(RealDisk), root, zone: TimeZone::UTC };
        let NoteList { notes, truncated: more } = shelf.all_notes();
        let named: Vec<&str> = notes.iter().map(|(note, _)| note.as_str()).collect();
        assert_eq!((named, more), (vec!["notes/trips/lisbon.md", "tasks.md"], false));
        let read = |name: &str| shelf.note_text(&Note::parse(name).unwrap());
        assert_eq!(read("notes/trips/lisbon.md").as_deref(), Ok("the flat is at 12, rua x"));
        for gone in ["notes/key.md", "notes/out.md", "notes/none.md"] {
            assert_eq!(read(gone), Err(JobFileError::Missing(gone.to_owned())));
        }
        std::fs::write(shelf.root.join("broken.txt"), [0xff, 0xfe]).unwrap();
        assert!(read("broken.txt").unwrap_err().to_string().contains("it is not text"));
    }
}
