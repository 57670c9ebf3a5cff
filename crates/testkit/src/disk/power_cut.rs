//! Computes every state that a power cut could leave.
//!
//! Power can fail after any operation. Everything synced by then is present. Of the rest, any part
//! may be present: a name may have been created, moved or removed or not, independently of others,
//! and the bytes of a write may be absent, truncated, or zeroed in any stretch. Real file systems
//! give stronger guarantees, but each gives different ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::memory::{MemoryDisk, Node, Tree, data_dir};
use super::recording::{FileId, Operation};

/// A state after a power cut.
#[derive(Debug)]
pub struct PowerCutState {
    /// The disk as found after power returned.
    pub disk: MemoryDisk,
    /// The number of times that the writer had declared everything durable.
    pub acknowledged: usize,
}

/// The number of positions at which a write is cut.
const CUT_POINTS: usize = 24;

/// Calls `visit` once for each distinct state.
pub(super) fn for_each_state(steps: &[Operation], mut visit: impl FnMut(PowerCutState)) {
    let mut visited = BTreeSet::<(usize, Tree)>::new();
    for done in 0..=steps.len() {
        let done = &steps[..done];
        let acknowledged = done.iter().filter(|step| matches!(step, Operation::Acknowledge)).count();
        for tree in possible_trees(done) {
            if visited.insert((acknowledged, tree.clone())) {
                visit(PowerCutState { disk: MemoryDisk::with_tree(tree), acknowledged });
            }
        }
    }
}

fn possible_trees(done: &[Operation]) -> Vec<Tree> {
    let unsynced = unsynced_name_changes(done);
    let contents = possible_contents(done);
    let mut trees = Vec::new();
    for choice in 0..1_u32 << unsynced.len() {
        let lost: BTreeSet<usize> = unsynced
            .iter()
            .enumerate()
            .filter(|(bit, _)| choice >> bit & 1 == 0)
            .map(|(_, step)| *step)
            .collect();
        let names = surviving_names(done, &lost);
        trees.extend(contents.iter().map(|content| tree(&names, content)));
    }
    trees
}

/// Returns the indices of name changes that were not synced afterwards.
fn unsynced_name_changes(done: &[Operation]) -> Vec<usize> {
    let is_synced = |dir: &Path, since: usize| {
        done[since..].iter().any(|step| matches!(step, Operation::SyncDirectory(synced) if synced == dir))
    };
    let unsynced_index = |(at, step): (usize, &Operation)| {
        let path = match step {
            Operation::MakeDirectory(path)
            | Operation::CreateFile(path, _)
            | Operation::Rename(_, path, _)
            | Operation::Remove(path) => path,
            Operation::Write(..)
            | Operation::SyncFile(_)
            | Operation::SyncDirectory(_)
            | Operation::Acknowledge => return None,
        };
        (!is_synced(path.parent()?, at)).then_some(at)
    };
    done.iter().enumerate().filter_map(unsynced_index).collect()
}

/// Returns the file of each name if the operations in `lost` had no effect.
fn surviving_names(done: &[Operation], lost: &BTreeSet<usize>) -> BTreeMap<PathBuf, Option<FileId>> {
    let mut names = BTreeMap::from([(PathBuf::from("/"), None), (data_dir(), None)]);
    for (_, step) in done.iter().enumerate().filter(|(at, _)| !lost.contains(at)) {
        match step {
            Operation::MakeDirectory(path) => {
                names.insert(path.clone(), None);
            }
            Operation::CreateFile(path, file) => {
                names.insert(path.clone(), Some(*file));
            }
            Operation::Rename(from, to, file) => {
                names.remove(from);
                names.insert(to.clone(), Some(*file));
            }
            Operation::Remove(path) => {
                names.remove(path);
            }
            Operation::Write(..)
            | Operation::SyncFile(_)
            | Operation::SyncDirectory(_)
            | Operation::Acknowledge => {}
        }
    }
    names
}

type Content = BTreeMap<FileId, Vec<u8>>;

/// Returns all combinations of possible file contents.
fn possible_contents(done: &[Operation]) -> Vec<Content> {
    let is_synced = |file: FileId, since: usize| {
        done[since..].iter().any(|step| matches!(step, Operation::SyncFile(synced) if *synced == file))
    };
    let mut contents = vec![Content::new()];
    for (at, step) in done.iter().enumerate() {
        let Operation::Write(file, bytes) = step else { continue };
        let results = if is_synced(*file, at) { vec![bytes.clone()] } else { possible_writes(bytes) };
        let appended = |content: &Content, result: &Vec<u8>| {
            let mut content = content.clone();
            content.entry(*file).or_default().extend_from_slice(result);
            content
        };
        contents =
            contents.iter().flat_map(|old| results.iter().map(|result| appended(old, result))).collect();
    }
    contents
}

/// Returns the possible results of an unsynced write.
fn possible_writes(bytes: &[u8]) -> Vec<Vec<u8>> {
    let zeros = |count: usize| vec![0; count];
    let mut results = vec![Vec::new(), bytes.to_vec()];
    for cut in (0..CUT_POINTS).map(|n| bytes.len() * n / CUT_POINTS) {
        let (head, tail) = bytes.split_at(cut);
        results.push(head.to_vec());
        results.push([head, &zeros(tail.len())].concat());
        results.push([&zeros(head.len()), tail].concat());
        results.push([head, &zeros(tail.len() / 2)].concat());
    }
    results.sort();
    results.dedup();
    results
}

fn tree(names: &BTreeMap<PathBuf, Option<FileId>>, content: &Content) -> Tree {
    let reachable = |path: &Path| path.ancestors().skip(1).all(|above| names.get(above) == Some(&None));
    let node = |file: &Option<FileId>| match file {
        Some(file) => Node::File(content.get(file).cloned().unwrap_or_default()),
        None => Node::Directory,
    };
    names.iter().filter(|(path, _)| reachable(path)).map(|(path, file)| (path.clone(), node(file))).collect()
}
