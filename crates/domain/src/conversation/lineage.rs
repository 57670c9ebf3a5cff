//! The moves of the branches, and the graph that is drawn from them.
//!
//! The graph has one row per move, newest on top: main is the trunk, and every other branch has a
//! lane beside it while it exists. The terminal and the page draw the same rows. The graph is built
//! in one pass over the moves.

mod lanes;

use std::collections::BTreeMap;

use jiff::Timestamp;

use self::lanes::Lanes;
use super::{Branch, MoveReason, SessionId};

/// The moves of the branches, oldest first, and the open branches.
#[derive(Clone, Debug, Default)]
pub struct Lineage {
    /// The moves. They contain the start of every branch that occurs.
    pub moves: Vec<LineageMove>,
    /// The open branches with their session and depth.
    pub open: Vec<(Branch, SessionId, u64)>,
    /// The number of older moves that were left out.
    pub omitted: u64,
}

/// A move with the depths in the tree.
#[derive(Clone, Debug)]
pub struct LineageMove {
    pub at: Timestamp,
    pub branch: Branch,
    pub reason: MoveReason,
    /// The topic, at the start of a branch whose topic is known.
    pub label: Option<String>,
    /// The previous session and depth.
    pub from: Option<(SessionId, u64)>,
    /// The new session and depth.
    pub to: Option<(SessionId, u64)>,
}

/// The graph of a lineage.
#[derive(Clone, Debug)]
pub struct LineageGraph<'a> {
    /// The open branches, main first.
    pub open: Vec<Tip<'a>>,
    /// The moves, newest first.
    pub rows: Vec<Row<'a>>,
    /// The number of lanes beside the trunk.
    pub lanes: usize,
    /// The number of older moves that were left out.
    pub omitted: u64,
}

/// An open branch.
#[derive(Clone, Debug)]
pub struct Tip<'a> {
    pub branch: &'a Branch,
    pub session: &'a SessionId,
    /// Its topic, if known.
    pub label: Option<&'a str>,
    /// Its lane; the trunk is 0.
    pub lane: usize,
    /// The number of entries: on main since its first entry, on a fork since its start.
    pub entries: u64,
}

/// One move in the graph.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The move. A promotion is shown by the move of the fork.
    pub branch_move: &'a LineageMove,
    /// The move of main that belongs to it, for a promotion.
    pub main_move: Option<&'a LineageMove>,
    /// The topic, if known.
    pub label: Option<&'a str>,
    /// Its lane; the trunk is 0.
    pub lane: usize,
    /// The number of entries before it: on main since its first entry, on a fork since its start.
    pub entries: u64,
    /// The number of entries of main that are no longer on its path.
    pub left_behind: u64,
    /// The row of the move that this one undid, if it is in the graph.
    pub undone_row: Option<usize>,
}

/// A change of main that can be undone; the last one is undone first.
struct MainChange {
    row: usize,
    common_path: CommonPath,
}

/// The common path of main before and after a change.
#[derive(Clone, Copy)]
enum CommonPath {
    All,
    /// The path down to this depth.
    ToDepth(u64),
}

/// The start of a fork.
#[derive(Clone, Copy)]
struct ForkStart<'a> {
    lane: usize,
    depth: u64,
    label: Option<&'a str>,
    row: Option<usize>,
}

impl Lineage {
    /// Builds the graph.
    pub fn graph(&self) -> LineageGraph<'_> {
        let mut walk = GraphBuilder { rows: Vec::with_capacity(self.moves.len()), ..GraphBuilder::default() };
        for line in &self.moves {
            walk.add(line);
        }
        let open: Vec<_> =
            self.open.iter().map(|(branch, session, depth)| walk.tip(branch, session, *depth)).collect();
        walk.reverse();
        LineageGraph { open, rows: walk.rows, lanes: walk.lanes.max_used(), omitted: self.omitted }
    }
}

/// Builds the rows in one pass over the moves, oldest first.
#[derive(Default)]
struct GraphBuilder<'a> {
    rows: Vec<Row<'a>>,
    forks: BTreeMap<&'a Branch, ForkStart<'a>>,
    lanes: Lanes,
    changes: Vec<MainChange>,
}

impl<'a> GraphBuilder<'a> {
    fn add(&mut self, line: &'a LineageMove) {
        let row = match (&line.branch, &line.to) {
            (Branch::Main, _) => self.main_row(line),
            (Branch::Fork(_), Some(_)) => self.fork_row(line),
            (Branch::Fork(_), None) => self.fork_end_row(line),
        };
        self.rows.push(row);
    }

    fn main_row(&mut self, line: &'a LineageMove) -> Row<'a> {
        let row = self.rows.len();
        let entries = depth(&line.from);
        let mut undone = None;
        match line.reason {
            MoveReason::Compacted => self.changes.push(MainChange { row, common_path: CommonPath::All }),
            MoveReason::Cleared | MoveReason::Promoted => {
                self.changes.push(MainChange { row, common_path: CommonPath::ToDepth(0) })
            }
            MoveReason::Undone => undone = self.changes.pop(),
            MoveReason::Created
            | MoveReason::Forked
            | MoveReason::Ended
            | MoveReason::Reported
            | MoveReason::Dropped
            | MoveReason::Lapsed => {}
        }
        let left_behind = match undone.as_ref().map(|change| change.common_path) {
            None => 0,
            // Entries that were appended since then stay on the path of main.
            Some(CommonPath::All) => entries.saturating_sub(depth(&line.to)),
            Some(CommonPath::ToDepth(ground)) => entries.saturating_sub(ground),
        };
        let undid = undone.map(|change| change.row);
        Row {
            branch_move: line,
            main_move: None,
            label: None,
            lane: 0,
            entries,
            left_behind,
            undone_row: undid,
        }
    }

    fn fork_row(&mut self, line: &'a LineageMove) -> Row<'a> {
        let fork = match self.forks.get(&line.branch) {
            Some(begun) => *begun,
            None => {
                let depth = depth(&line.to);
                let label = line.label.as_deref();
                let begun = ForkStart { lane: self.lanes.take(), depth, label, row: Some(self.rows.len()) };
                self.forks.insert(&line.branch, begun);
                begun
            }
        };
        let entries = depth(&line.from).saturating_sub(fork.depth);
        Row {
            branch_move: line,
            main_move: None,
            label: fork.label,
            lane: fork.lane,
            entries,
            left_behind: 0,
            undone_row: None,
        }
    }

    fn fork_end_row(&mut self, line: &'a LineageMove) -> Row<'a> {
        let begun = self.forks.remove(&line.branch);
        let ForkStart { lane, depth: began, label, row } =
            begun.unwrap_or_else(|| self.unknown_start(&line.from));
        self.lanes.release(lane);
        let entries = depth(&line.from).saturating_sub(began);
        self.set_entries(row, entries);
        let main = self.rows.pop_if(|row| is_promotion_of(row.branch_move, line)).map(|row| row.branch_move);
        let left_behind = main.map_or(0, |main| depth(&main.from).saturating_sub(began));
        if let (Some(_), Some(change)) = (main, self.changes.last_mut()) {
            change.common_path = CommonPath::ToDepth(began);
        }
        Row { branch_move: line, main_move: main, label, lane, entries, left_behind, undone_row: None }
    }

    /// Creates the start of a fork whose first move is unknown.
    fn unknown_start(&mut self, place: &Option<(SessionId, u64)>) -> ForkStart<'a> {
        ForkStart { lane: self.lanes.take(), depth: depth(place), label: None, row: None }
    }

    fn tip(&mut self, branch: &'a Branch, session: &'a SessionId, now: u64) -> Tip<'a> {
        let begun = match branch {
            Branch::Main => ForkStart { lane: 0, depth: 0, label: None, row: None },
            Branch::Fork(_) => self
                .forks
                .get(branch)
                .copied()
                .unwrap_or_else(|| self.unknown_start(&Some((session.clone(), now)))),
        };
        let entries = now.saturating_sub(begun.depth);
        self.set_entries(begun.row, entries);
        Tip { branch, session, label: begun.label, lane: begun.lane, entries }
    }

    /// Reverses the rows, so that the newest is first.
    fn reverse(&mut self) {
        self.rows.reverse();
        let last = self.rows.len().saturating_sub(1);
        self.rows.iter_mut().for_each(|row| row.undone_row = row.undone_row.map(|undid| last - undid));
    }

    /// Stores the final number of entries in the row of a fork's start.
    fn set_entries(&mut self, row: Option<usize>, entries: u64) {
        if let Some(row) = row.and_then(|row| self.rows.get_mut(row)) {
            row.entries = entries;
        }
    }
}

/// Returns whether `main` is the move of main that belongs to the end of a promoted fork.
fn is_promotion_of(main: &LineageMove, ended: &LineageMove) -> bool {
    let to = main.to.as_ref();
    let from = ended.from.as_ref();
    let same = to.map(|(session, _)| session) == from.map(|(session, _)| session);
    main.branch == Branch::Main && main.reason == MoveReason::Promoted && same
}

fn depth(place: &Option<(SessionId, u64)>) -> u64 {
    place.as_ref().map_or(0, |(_, depth)| *depth)
}
