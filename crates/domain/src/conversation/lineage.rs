//! The lineage: how the names of the tree moved, and the picture that follows from it.
//!
//! The picture is one row for each thing that happened, newest on top: main is the trunk, and every other
//! branch has a lane beside it for as long as it exists. Text and page draw the same rows. All of it is found
//! in one walk over the moves, so that a year of them is drawn as fast as it is read.

mod lanes;

use std::collections::BTreeMap;

use jiff::Timestamp;

use self::lanes::Lanes;
use super::{Branch, SessionId, Why};

/// The moves of the names, oldest first, and where the names are now.
#[derive(Clone, Debug, Default)]
pub struct Lineage {
    /// What happened. The beginning of a branch that is still told of is always among it.
    pub lines: Vec<Line>,
    /// The branches that exist, with their session and their depth.
    pub open: Vec<(Branch, SessionId, u64)>,
    /// How many older moves were left out.
    pub older: u64,
}

/// One move, with how deep in the tree it went from and to.
#[derive(Clone, Debug)]
pub struct Line {
    /// When.
    pub at: Timestamp,
    /// The branch.
    pub branch: Branch,
    /// Why.
    pub why: Why,
    /// What the branch is about, where it begins and that is known.
    pub label: Option<String>,
    /// The session and depth before.
    pub from: Option<(SessionId, u64)>,
    /// The session and depth after.
    pub to: Option<(SessionId, u64)>,
}

/// The picture of a lineage.
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    /// The branches that exist, main first.
    pub open: Vec<Tip<'a>>,
    /// What happened, newest first.
    pub rows: Vec<Row<'a>>,
    /// How many lanes there are beside the trunk.
    pub lanes: usize,
    /// How many older moves were left out.
    pub older: u64,
}

/// Where a branch is now.
#[derive(Clone, Debug)]
pub struct Tip<'a> {
    /// The branch.
    pub branch: &'a Branch,
    /// Its session.
    pub session: &'a SessionId,
    /// What it is about, if that is known.
    pub label: Option<&'a str>,
    /// Its lane; the trunk is 0.
    pub lane: usize,
    /// How much was said: on main from its first word, on a fork since it began.
    pub entries: u64,
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The move. A fork that became main is told by the move of its own name.
    pub line: &'a Line,
    /// The move of main that belongs to it, when a fork became main.
    pub main: Option<&'a Line>,
    /// What the branch is about, if that is known.
    pub label: Option<&'a str>,
    /// Its lane; the trunk is 0.
    pub lane: usize,
    /// How much had been said: on main from its first word, on a fork since it began.
    pub entries: u64,
    /// How many entries of main are on no way to it any more.
    pub left_behind: u64,
    /// The row that this took back, if it took one back and that is told of.
    pub undid: Option<usize>,
}

/// A change of main that can be taken back: the last one is taken back first.
struct Change {
    row: usize,
    ground: Ground,
}

/// What main has in common before and after a change.
#[derive(Clone, Copy)]
enum Ground {
    /// All of it.
    Whole,
    /// The way down to this depth.
    Down(u64),
}

/// A fork that has begun.
#[derive(Clone, Copy)]
struct Begun<'a> {
    lane: usize,
    depth: u64,
    label: Option<&'a str>,
    row: Option<usize>,
}

impl Lineage {
    /// The picture of it.
    pub fn picture(&self) -> Picture<'_> {
        let mut walk = Walk { rows: Vec::with_capacity(self.lines.len()), ..Walk::default() };
        for line in &self.lines {
            walk.step(line);
        }
        let open: Vec<_> =
            self.open.iter().map(|(branch, session, depth)| walk.tip(branch, session, *depth)).collect();
        walk.turn_over();
        Picture { open, rows: walk.rows, lanes: walk.lanes.most(), older: self.older }
    }
}

/// A walk over the moves, oldest first.
#[derive(Default)]
struct Walk<'a> {
    rows: Vec<Row<'a>>,
    forks: BTreeMap<&'a Branch, Begun<'a>>,
    lanes: Lanes,
    changes: Vec<Change>,
}

impl<'a> Walk<'a> {
    fn step(&mut self, line: &'a Line) {
        let row = match (&line.branch, &line.to) {
            (Branch::Main, _) => self.main_goes_on(line),
            (Branch::Fork(_), Some(_)) => self.fork_goes_on(line),
            (Branch::Fork(_), None) => self.fork_ends(line),
        };
        self.rows.push(row);
    }

    fn main_goes_on(&mut self, line: &'a Line) -> Row<'a> {
        let row = self.rows.len();
        let entries = depth(&line.from);
        let mut undone = None;
        match line.why {
            Why::Compacted => self.changes.push(Change { row, ground: Ground::Whole }),
            Why::Cleared | Why::Promoted => self.changes.push(Change { row, ground: Ground::Down(0) }),
            Why::Undone => undone = self.changes.pop(),
            Why::Created | Why::Forked | Why::Ended | Why::Reported | Why::Dropped | Why::Lapsed => {}
        }
        let left_behind = match undone.as_ref().map(|change| change.ground) {
            None => 0,
            // If something was said since, it stays said: main only goes on.
            Some(Ground::Whole) => entries.saturating_sub(depth(&line.to)),
            Some(Ground::Down(ground)) => entries.saturating_sub(ground),
        };
        let undid = undone.map(|change| change.row);
        Row { line, main: None, label: None, lane: 0, entries, left_behind, undid }
    }

    fn fork_goes_on(&mut self, line: &'a Line) -> Row<'a> {
        let fork = match self.forks.get(&line.branch) {
            Some(begun) => *begun,
            None => {
                let depth = depth(&line.to);
                let label = line.label.as_deref();
                let begun = Begun { lane: self.lanes.take(), depth, label, row: Some(self.rows.len()) };
                self.forks.insert(&line.branch, begun);
                begun
            }
        };
        let entries = depth(&line.from).saturating_sub(fork.depth);
        Row { line, main: None, label: fork.label, lane: fork.lane, entries, left_behind: 0, undid: None }
    }

    fn fork_ends(&mut self, line: &'a Line) -> Row<'a> {
        let begun = self.forks.remove(&line.branch);
        let Begun { lane, depth: began, label, row } = begun.unwrap_or_else(|| self.unknown(&line.from));
        self.lanes.give_back(lane);
        let entries = depth(&line.from).saturating_sub(began);
        self.grown(row, entries);
        let main = self.rows.pop_if(|row| became_main(row.line, line)).map(|row| row.line);
        let left_behind = main.map_or(0, |main| depth(&main.from).saturating_sub(began));
        if let (Some(_), Some(change)) = (main, self.changes.last_mut()) {
            change.ground = Ground::Down(began);
        }
        Row { line, main, label, lane, entries, left_behind, undid: None }
    }

    /// A branch whose beginning nobody told.
    fn unknown(&mut self, place: &Option<(SessionId, u64)>) -> Begun<'a> {
        Begun { lane: self.lanes.take(), depth: depth(place), label: None, row: None }
    }

    fn tip(&mut self, branch: &'a Branch, session: &'a SessionId, now: u64) -> Tip<'a> {
        let begun = match branch {
            Branch::Main => Begun { lane: 0, depth: 0, label: None, row: None },
            Branch::Fork(_) => {
                self.forks.get(branch).copied().unwrap_or_else(|| self.unknown(&Some((session.clone(), now))))
            }
        };
        let entries = now.saturating_sub(begun.depth);
        self.grown(begun.row, entries);
        Tip { branch, session, label: begun.label, lane: begun.lane, entries }
    }

    /// Newest first.
    fn turn_over(&mut self) {
        self.rows.reverse();
        let last = self.rows.len().saturating_sub(1);
        self.rows.iter_mut().for_each(|row| row.undid = row.undid.map(|undid| last - undid));
    }

    /// The row where a branch began tells how much was said on it.
    fn grown(&mut self, row: Option<usize>, entries: u64) {
        if let Some(row) = row.and_then(|row| self.rows.get_mut(row)) {
            row.entries = entries;
        }
    }
}

/// Whether `main` is the move by which the fork that ended became the main conversation.
fn became_main(main: &Line, ended: &Line) -> bool {
    let to = main.to.as_ref();
    let from = ended.from.as_ref();
    let same = to.map(|(session, _)| session) == from.map(|(session, _)| session);
    main.branch == Branch::Main && main.why == Why::Promoted && same
}

fn depth(place: &Option<(SessionId, u64)>) -> u64 {
    place.as_ref().map_or(0, |(_, depth)| *depth)
}
