//! Draws the lines of the trunk and the lanes in each row, from the newest down.

use crate::conversation::lineage::{Row, Tip};
use crate::conversation::{Branch, MoveReason};

/// The state of the trunk and the lanes while rows are drawn.
pub struct LaneDrawing {
    trunk: Trunk,
    /// The number of branches in each lane.
    lanes: Vec<usize>,
}

/// Whether main exists at this row.
#[derive(Clone, Copy)]
enum Trunk {
    Present,
    Absent,
}

impl LaneDrawing {
    /// Creates the state before the first row.
    pub fn new(lanes: usize) -> Self {
        Self { trunk: Trunk::Absent, lanes: vec![0; lanes] }
    }

    /// Draws the row of an open branch.
    pub fn tip_row(&mut self, tip: &Tip<'_>) -> String {
        match tip.branch {
            Branch::Main => {
                self.trunk = Trunk::Present;
                self.trunk_row('●')
            }
            Branch::Fork(_) => {
                let drawn = self.lane_row(tip.lane, '◉');
                self.enter(tip.lane);
                drawn
            }
        }
    }

    /// Draws the row of a move.
    pub fn move_row(&mut self, row: &Row<'_>) -> String {
        match (&row.branch_move.branch, row.branch_move.reason) {
            (Branch::Main, why) => self.main_row(row, why),
            (Branch::Fork(_), MoveReason::Forked) => {
                self.leave(row.lane);
                self.joined_row(row.lane, ['┣', '─', '─', '╯'])
            }
            (Branch::Fork(_), MoveReason::Created) => {
                self.leave(row.lane);
                self.lane_row(row.lane, '○')
            }
            (Branch::Fork(_), MoveReason::Compacted) => self.lane_row(row.lane, '◆'),
            (Branch::Fork(_), MoveReason::Undone) => self.lane_row(row.lane, '↶'),
            (Branch::Fork(_), why) => {
                let drawn = match why {
                    MoveReason::Promoted => self.joined_row(row.lane, ['┃', '◀', '━', '╮']),
                    MoveReason::Reported => self.joined_row(row.lane, ['┃', '◁', '┄', '╮']),
                    MoveReason::Lapsed => self.lane_row(row.lane, '◌'),
                    MoveReason::Ended => self.lane_row(row.lane, '▪'),
                    MoveReason::Dropped | MoveReason::Cleared => self.lane_row(row.lane, '✕'),
                    MoveReason::Created | MoveReason::Forked | MoveReason::Compacted | MoveReason::Undone => {
                        self.lane_row(row.lane, '│')
                    }
                };
                self.enter(row.lane);
                drawn
            }
        }
    }

    fn main_row(&mut self, row: &Row<'_>, why: MoveReason) -> String {
        let mark = match why {
            MoveReason::Created => '○',
            MoveReason::Compacted => '◆',
            MoveReason::Cleared => '╳',
            MoveReason::Undone => '↶',
            MoveReason::Promoted => '◀',
            MoveReason::Forked
            | MoveReason::Ended
            | MoveReason::Reported
            | MoveReason::Dropped
            | MoveReason::Lapsed => '┃',
        };
        self.trunk = match row.branch_move.from {
            Some(_) => Trunk::Present,
            None => Trunk::Absent,
        };
        self.trunk_row(mark)
    }

    /// Draws a row with a mark on the trunk.
    fn trunk_row(&self, mark: char) -> String {
        let lanes = (1..=self.lanes.len()).flat_map(|lane| [' ', self.lane_char(lane)]);
        std::iter::once(mark).chain(lanes).collect()
    }

    /// Draws a row with a mark in a lane that does not touch the trunk.
    fn lane_row(&self, lane: usize, mark: char) -> String {
        let cell = |other| if other == lane { mark } else { self.lane_char(other) };
        let lanes = (1..=self.lanes.len()).flat_map(|other| [' ', cell(other)]);
        std::iter::once(self.trunk()).chain(lanes).collect()
    }

    /// Draws a row that joins a lane with the trunk. The characters are for the trunk, the gap
    /// beside it, the lanes between, and the lane.
    fn joined_row(&self, lane: usize, [trunk, beside, way, end]: [char; 4]) -> String {
        let cell = |other| match (other < lane, other == lane) {
            (true, _) => [way, if self.lane_char(other) == ' ' { way } else { '┼' }],
            (_, true) => [way, end],
            (false, false) => [' ', self.lane_char(other)],
        };
        let cells = (1..=self.lanes.len()).flat_map(cell);
        std::iter::once(trunk).chain(std::iter::once(beside)).chain(cells.skip(1)).collect()
    }

    fn trunk(&self) -> char {
        match self.trunk {
            Trunk::Present => '┃',
            Trunk::Absent => ' ',
        }
    }

    fn lane_char(&self, lane: usize) -> char {
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
