//! A disk in memory.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use journal::disk::{Disk, FileEntry, FileKind, Stamp};

/// An entry of the file system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Node {
    File(Vec<u8>),
    Directory,
}

/// All entries of a disk.
pub(super) type Tree = BTreeMap<PathBuf, Node>;

/// A disk in memory. It starts with the empty directory `/data`.
#[derive(Debug)]
pub struct MemoryDisk {
    tree: Mutex<Tree>,
    stamps: Mutex<FileStamps>,
}

/// Numbers and change times of files.
#[derive(Debug, Default)]
struct FileStamps {
    now: Timestamp,
    last_number: u64,
    by_path: BTreeMap<PathBuf, (u64, Timestamp)>,
}

impl FileStamps {
    /// Records a change at `path`; a new path gets a new number.
    fn change(&mut self, path: &Path) {
        let number = self.last_number + 1;
        let now = self.now;
        let stamp = self.by_path.entry(path.to_owned()).or_insert((number, now));
        stamp.1 = now;
        self.last_number = number;
    }
}

impl Default for MemoryDisk {
    fn default() -> Self {
        Self::with_tree(Tree::from([(PathBuf::from("/"), Node::Directory), (data_dir(), Node::Directory)]))
    }
}

impl MemoryDisk {
    pub(super) fn with_tree(tree: Tree) -> Self {
        Self { tree: Mutex::new(tree), stamps: Mutex::default() }
    }

    fn stamps(&self) -> MutexGuard<'_, FileStamps> {
        self.stamps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the time that further changes get.
    pub fn set_time(&self, now: Timestamp) {
        self.stamps().now = now;
    }

    pub(super) fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns another disk with the same content.
    pub fn snapshot(&self) -> Self {
        Self::with_tree(self.tree().clone())
    }

    /// Writes or replaces a file, creating its directories.
    pub fn put(&self, path: impl AsRef<Path>, bytes: &[u8]) {
        let path = path.as_ref();
        let above = path.ancestors().skip(1).map(|above| (above.to_owned(), Node::Directory));
        let mut tree = self.tree();
        tree.extend(above);
        tree.insert(path.to_owned(), Node::File(bytes.to_vec()));
        self.stamps().change(path);
    }

    /// Returns all files by path.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let tree = self.tree();
        let files = tree.iter().filter_map(|(path, node)| match node {
            Node::File(bytes) => Some((path.clone(), bytes.clone())),
            Node::Directory => None,
        });
        files.collect()
    }
}

/// Returns the directory that exists initially.
pub(super) fn data_dir() -> PathBuf {
    PathBuf::from("/data")
}

impl Disk for MemoryDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_part(path, 0, usize::MAX)
    }

    fn read_part(&self, path: &Path, from: u64, most: usize) -> io::Result<Vec<u8>> {
        match self.tree().get(path) {
            Some(Node::File(bytes)) => {
                let from = usize::try_from(from).unwrap_or(usize::MAX).min(bytes.len());
                let to = from.saturating_add(most).min(bytes.len());
                Ok(bytes[from..to].to_vec())
            }
            Some(Node::Directory) => Err(ErrorKind::IsADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    fn file_kind(&self, path: &Path) -> io::Result<Option<FileKind>> {
        Ok(self.tree().get(path).map(file_kind))
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        Ok(self.tree().get(path).map(|node| stamp(node, self.stamps().by_path.get(path))))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<FileEntry>> {
        check_is_dir(&self.tree(), dir)?;
        let tree = self.tree();
        let inside = tree.iter().filter(|(path, _)| path.parent() == Some(dir));
        let marks = self.stamps();
        Ok(inside
            .map(|(path, node)| FileEntry { path: path.clone(), stamp: stamp(node, marks.by_path.get(path)) })
            .collect())
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let mut tree = self.tree();
        if matches!(tree.get(dir), Some(Node::File(_))) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        tree.extend(dir.ancestors().map(|above| (above.to_owned(), Node::Directory)));
        Ok(())
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut tree = self.tree();
        check_is_dir(&tree, path.parent().unwrap_or(path))?;
        if tree.contains_key(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        tree.insert(path.to_owned(), Node::File(bytes.to_vec()));
        self.stamps().change(path);
        Ok(())
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut tree = self.tree();
        check_is_dir(&tree, path.parent().unwrap_or(path))?;
        match tree.entry(path.to_owned()).or_insert_with(|| Node::File(Vec::new())) {
            Node::File(content) => content.extend_from_slice(bytes),
            Node::Directory => return Err(ErrorKind::IsADirectory.into()),
        }
        self.stamps().change(path);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut tree = self.tree();
        let node = tree.remove(from).ok_or(ErrorKind::NotFound)?;
        let below: Vec<PathBuf> = tree.keys().filter(|path| path.starts_with(from)).cloned().collect();
        for path in below {
            if let (Some(node), Ok(rest)) = (tree.remove(&path), path.strip_prefix(from)) {
                tree.insert(to.join(rest), node);
            }
        }
        tree.insert(to.to_owned(), node);
        let mut marks = self.stamps();
        let mark = marks.by_path.remove(from);
        let now = marks.now;
        marks.by_path.insert(to.to_owned(), (mark.map_or(0, |(number, _)| number), now));
        Ok(())
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let taken = self.tree().contains_key(to);
        if taken { Err(ErrorKind::AlreadyExists.into()) } else { self.rename(from, to) }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut tree = self.tree();
        match tree.get(path) {
            Some(Node::File(_)) => {
                tree.remove(path);
                self.stamps().by_path.remove(path);
                Ok(())
            }
            Some(Node::Directory) => Err(ErrorKind::IsADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        check_is_dir(&self.tree(), dir)
    }
}

fn file_kind(node: &Node) -> FileKind {
    match node {
        Node::File(bytes) => FileKind::File(bytes.len() as u64),
        Node::Directory => FileKind::Directory,
    }
}

fn stamp(node: &Node, mark: Option<&(u64, Timestamp)>) -> Stamp {
    let (number, changed) = mark.copied().unwrap_or_default();
    Stamp { kind: Some(file_kind(node)), inode: number, changed }
}

fn check_is_dir(tree: &Tree, dir: &Path) -> io::Result<()> {
    match tree.get(dir) {
        Some(Node::Directory) => Ok(()),
        Some(Node::File(_)) => Err(ErrorKind::NotADirectory.into()),
        None => Err(ErrorKind::NotFound.into()),
    }
}
