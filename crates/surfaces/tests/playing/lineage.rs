//! Computes the lineage of branches from records in memory.

use std::collections::BTreeMap;

use domain::conversation::{Branch, EntryId, Head, Lineage, LineageMove, SessionId};
use domain::record::{ForkChange, Record};

type Position = Option<(SessionId, u64)>;

/// Returns the newest `limit` moves among `records`.
pub fn lineage_of(records: &[Record], limit: u32) -> Lineage {
    let mut depths: BTreeMap<EntryId, u64> = BTreeMap::new();
    let mut heads: BTreeMap<Branch, Head> = BTreeMap::new();
    let mut lines: Vec<LineageMove> = Vec::new();
    for record in records {
        match record {
            Record::EntryAppended(branch, entry) => {
                let parent = entry.parent.and_then(|parent| depths.get(&parent));
                depths.insert(entry.id, parent.map_or(1, |depth| depth + 1));
                heads.entry(branch.clone()).and_modify(|head| head.entry = Some(entry.id));
            }
            Record::BranchMoved(moved) => {
                let from = position(&moved.from, &depths);
                let to = position(&moved.to, &depths);
                let at = moved.at;
                let branch = moved.branch.clone();
                let why = moved.reason;
                lines.push(LineageMove { at, branch, reason: why, label: None, from, to });
                match &moved.to {
                    Some(head) => heads.insert(moved.branch.clone(), head.clone()),
                    None => heads.remove(&moved.branch),
                };
            }
            Record::Fork(ForkChange::Open(fork)) => {
                let begun = lines.iter_mut().find(|line| line.branch == fork.branch);
                begun.into_iter().for_each(|line| line.label.clone_from(&fork.topic));
            }
            Record::Fork(ForkChange::RunStarted(run)) => {
                let begun = lines.iter_mut().find(|line| line.branch == run.branch);
                begun.into_iter().for_each(|line| line.label = Some(run.source.to_string()));
            }
            Record::Message(_)
            | Record::Turn(_)
            | Record::Update(_)
            | Record::Fork(
                ForkChange::Ended(_)
                | ForkChange::Requested(_)
                | ForkChange::RunProgress(..)
                | ForkChange::RunEnded(_),
            )
            | Record::Plan(_)
            | Record::CallSpent(_)
            | Record::State(_)
            | Record::Approval(_)
            | Record::Inbox(_)
            | Record::Session(_) => {}
        }
    }
    let older = lines.len().saturating_sub(limit as usize);
    let open = heads.iter().filter_map(|(branch, head)| {
        position(&Some(head.clone()), &depths).map(|(session, depth)| (branch.clone(), session, depth))
    });
    Lineage { open: open.collect(), moves: lines.split_off(older), omitted: older as u64 }
}

fn position(head: &Option<Head>, depths: &BTreeMap<EntryId, u64>) -> Position {
    let depth = |entry: Option<EntryId>| entry.and_then(|entry| depths.get(&entry)).copied().unwrap_or(0);
    head.as_ref().map(|head| (head.session.clone(), depth(head.entry)))
}
