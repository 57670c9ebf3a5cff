//! Draws the lines of the trunk and the lanes in each row, from the newest down.

use crate::conversation::lineage::{Row, Tip};
use crate::conversation::{Branch, Why};

/// The state of the trunk and the lanes while rows are drawn.
pub struct Wires {
    trunk: Trunk,
    /// The number of branches in each lane.
    lanes: Vec<usize>,
}

/// Whether main exists at this row.
#[derive(Clone, Copy)]
enum Trunk {
    There,
    Gone,
}

impl Wires {
    /// Creates the state before the first row.
    pub fn of(lanes: usize) -> Self {
        Self { trunk: Trunk::Gone, lanes: vec![0; lanes] }
    }

    /// Draws the row of an open branch.
    pub fn tip(&mut self, tip: &Tip<'_>) -> String {
        match tip.branch {
            Branch::Main => {
                self.trunk = Trunk::There;
                self.marked('●')
            }
            Branch::Fork(_) => {
                let drawn = self.aside(tip.lane, '◉');
                self.enter(tip.lane);
                drawn
            }
        }
    }

    /// Draws the row of a move.
    pub fn row(&mut self, row: &Row<'_>) -> String {
        match (&row.line.branch, row.line.why) {
            (Branch::Main, why) => self.main_row(row, why),
            (Branch::Fork(_), Why::Forked) => {
                self.leave(row.lane);
                self.joined(row.lane, ['┣', '─', '─', '╯'])
            }
            (Branch::Fork(_), Why::Created) => {
                self.leave(row.lane);
                self.aside(row.lane, '○')
            }
            (Branch::Fork(_), Why::Compacted) => self.aside(row.lane, '◆'),
            (Branch::Fork(_), Why::Undone) => self.aside(row.lane, '↶'),
            (Branch::Fork(_), why) => {
                let drawn = match why {
                    Why::Promoted => self.joined(row.lane, ['┃', '◀', '━', '╮']),
                    Why::Reported => self.joined(row.lane, ['┃', '◁', '┄', '╮']),
                    Why::Lapsed => self.aside(row.lane, '◌'),
                    Why::Ended => self.aside(row.lane, '▪'),
                    Why::Dropped | Why::Cleared => self.aside(row.lane, '✕'),
                    Why::Created | Why::Forked | Why::Compacted | Why::Undone => self.aside(row.lane, '│'),
                };
                self.enter(row.lane);
                drawn
            }
        }
    }

    fn main_row(&mut self, row: &Row<'_>, why: Why) -> String {
        let mark = match why {
            Why::Created => '○',
            Why::Compacted => '◆',
            Why::Cleared => '╳',
            Why::Undone => '↶',
            Why::Promoted => '◀',
            Why::Forked | Why::Ended | Why::Reported | Why::Dropped | Why::Lapsed => '┃',
        };
        self.trunk = match row.line.from {
            Some(_) => Trunk::There,
            None => Trunk::Gone,
        };
        self.marked(mark)
    }

    /// Draws a row with a mark on the trunk.
    fn marked(&self, mark: char) -> String {
        let lanes = (1..=self.lanes.len()).flat_map(|lane| [' ', self.passing(lane)]);
        std::iter::once(mark).chain(lanes).collect()
    }

    /// Draws a row with a mark in a lane that does not touch the trunk.
    fn aside(&self, lane: usize, mark: char) -> String {
        let cell = |other| if other == lane { mark } else { self.passing(other) };
        let lanes = (1..=self.lanes.len()).flat_map(|other| [' ', cell(other)]);
        std::iter::once(self.trunk()).chain(lanes).collect()
    }

    /// Draws a row that joins a lane with the trunk. The characters are for the trunk, the gap
    /// beside it, the lanes between, and the lane.
    fn joined(&self, lane: usize, [trunk, beside, way, end]: [char; 4]) -> String {
        let cell = |other| match (other < lane, other == lane) {
            (true, _) => [way, if self.passing(other) == ' ' { way } else { '┼' }],
            (_, true) => [way, end],
            (false, false) => [' ', self.passing(other)],
        };
        let cells = (1..=self.lanes.len()).flat_map(cell);
        std::iter::once(trunk).chain(std::iter::once(beside)).chain(cells.skip(1)).collect()
    }

    fn trunk(&self) -> char {
        match self.trunk {
            Trunk::There => '┃',
            Trunk::Gone => ' ',
        }
    }

    fn passing(&self, lane: usize) -> char {
        match self.lanes.get(lane - 1) {
            Some(1..) => '│',
            Some(0) | None => ' ',
        }
    }

    fn enter(&mut self, lane: usize) {
        if let Some(count) = self.lanes.get_mut(lane - 1) {
            *count += 1;
        }
    }

    fn leave(&mut self, lane: usize) {
        if let Some(count) = self.lanes.get_mut(lane - 1) {
            *count = count.saturating_sub(1);
        }
    }
}
