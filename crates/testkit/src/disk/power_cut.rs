//! Computes every state that a power cut could leave.
//!
//! Power can fail after any operation. Everything synced by then is present. Of the rest, any part
//! may be present: a name may have been created, moved or removed or not, independently of others,
//! and the bytes of a write may be absent, truncated, or zeroed in any stretch. Real file systems
//! give stronger guarantees, but each gives different ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::crash::{FileId, Step};
use super::memory::{MemoryDisk, Node, Tree, data};

/// A state after a power cut.
#[derive(Debug)]
pub struct AfterCut {
    /// The disk as found after power returned.
    pub disk: MemoryDisk,
    /// The number of times that the writer had declared everything durable.
    pub acknowledged: usize,
}

/// The number of positions at which a write is cut.
const CUTS: usize = 24;

/// Calls `visit` once for each distinct state.
pub(super) fn after_cuts(steps: &[Step], mut seen: impl FnMut(AfterCut)) {
    let mut known = BTreeSet::<(usize, Tree)>::new();
    for done in 0..=steps.len() {
        let done = &steps[..done];
        let acknowledged = done.iter().filter(|step| matches!(step, Step::Acknowledge)).count();
        for tree in trees(done) {
            if known.insert((acknowledged, tree.clone())) {
                seen(AfterCut { disk: MemoryDisk::holding(tree), acknowledged });
            }
        }
    }
}

fn trees(done: &[Step]) -> Vec<Tree> {
    let loose = loose_names(done);
    let contents = contents(done);
    let mut trees = Vec::new();
    for choice in 0..1_u32 << loose.len() {
        let lost: BTreeSet<usize> = loose
            .iter()
            .enumerate()
            .filter(|(bit, _)| choice >> bit & 1 == 0)
            .map(|(_, step)| *step)
            .collect();
        let names = names(done, &lost);
        trees.extend(contents.iter().map(|content| tree(&names, content)));
    }
    trees
}

/// Returns the indices of name changes that were not synced afterwards.
fn loose_names(done: &[Step]) -> Vec<usize> {
    let is_synced = |dir: &Path, since: usize| {
        done[since..].iter().any(|step| matches!(step, Step::SyncDirectory(synced) if synced == dir))
    };
    let loose = |(at, step): (usize, &Step)| {
        let path = match step {
            Step::MakeDirectory(path)
            | Step::Name(path, _)
            | Step::Rename(_, path, _)
            | Step::Remove(path) => path,
            Step::Write(..) | Step::SyncFile(_) | Step::SyncDirectory(_) | Step::Acknowledge => return None,
        };
        (!is_synced(path.parent()?, at)).then_some(at)
    };
    done.iter().enumerate().filter_map(loose).collect()
}

/// Returns the file of each name if the operations in `lost` had no effect.
fn names(done: &[Step], lost: &BTreeSet<usize>) -> BTreeMap<PathBuf, Option<FileId>> {
    let mut names = BTreeMap::from([(PathBuf::from("/"), None), (data(), None)]);
    for (_, step) in done.iter().enumerate().filter(|(at, _)| !lost.contains(at)) {
        match step {
            Step::MakeDirectory(path) => {
                names.insert(path.clone(), None);
            }
            Step::Name(path, file) => {
                names.insert(path.clone(), Some(*file));
            }
            Step::Rename(from, to, file) => {
                names.remove(from);
                names.insert(to.clone(), Some(*file));
            }
            Step::Remove(path) => {
                names.remove(path);
            }
            Step::Write(..) | Step::SyncFile(_) | Step::SyncDirectory(_) | Step::Acknowledge => {}
        }
    }
    names
}

type Content = BTreeMap<FileId, Vec<u8>>;

/// Returns all combinations of possible file contents.
fn contents(done: &[Step]) -> Vec<Content> {
    let is_synced = |file: FileId, since: usize| {
        done[since..].iter().any(|step| matches!(step, Step::SyncFile(synced) if *synced == file))
    };
    let mut contents = vec![Content::new()];
    for (at, step) in done.iter().enumerate() {
        let Step::Write(file, bytes) = step else { continue };
        let fates = if is_synced(*file, at) { vec![bytes.clone()] } else { fates(bytes) };
        let with = |content: &Content, fate: &Vec<u8>| {
            let mut content = content.clone();
            content.entry(*file).or_default().extend_from_slice(fate);
            content
        };
        contents = contents.iter().flat_map(|old| fates.iter().map(|fate| with(old, fate))).collect();
    }
    contents
}

/// Returns the possible results of an unsynced write.
fn fates(bytes: &[u8]) -> Vec<Vec<u8>> {
    let zeros = |count: usize| vec![0; count];
    let mut fates = vec![Vec::new(), bytes.to_vec()];
    for cut in (0..CUTS).map(|n| bytes.len() * n / CUTS) {
        let (head, tail) = bytes.split_at(cut);
        fates.push(head.to_vec());
        fates.push([head, &zeros(tail.len())].concat());
        fates.push([&zeros(head.len()), tail].concat());
        fates.push([head, &zeros(tail.len() / 2)].concat());
    }
    fates.sort();
    fates.dedup();
    fates
}

fn tree(names: &BTreeMap<PathBuf, Option<FileId>>, content: &Content) -> Tree {
    let reachable = |path: &Path| path.ancestors().skip(1).all(|above| names.get(above) == Some(&None));
    let node = |file: &Option<FileId>| match file {
        Some(file) => Node::File(content.get(file).cloned().unwrap_or_default()),
        None => Node::Directory,
    };
    names.iter().filter(|(path, _)| reachable(path)).map(|(path, file)| (path.clone(), node(file))).collect()
}
