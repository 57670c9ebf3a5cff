//! Assigns branches to the lanes beside the trunk.

use std::collections::BTreeSet;

/// The most lanes beside the trunk. Further branches share the last one.
const MAX_LANES: usize = 8;

/// The free lanes. The trunk is 0 and belongs to main.
#[derive(Default)]
pub struct Lanes {
    free: BTreeSet<usize>,
    max_used: usize,
    sharing: usize,
}

impl Lanes {
    /// Takes the free lane nearest to the trunk.
    pub fn take(&mut self) -> usize {
        match self.free.pop_first() {
            Some(lane) => lane,
            None if self.max_used < MAX_LANES => {
                self.max_used += 1;
                self.max_used
            }
            None => {
                self.sharing += 1;
                MAX_LANES
            }
        }
    }

    /// Releases the lane of a branch that ended.
    pub fn release(&mut self, lane: usize) {
        match (lane, self.sharing) {
            (MAX_LANES, 1..) => self.sharing -= 1,
            _ => {
                self.free.insert(lane);
            }
        }
    }

    /// Returns the largest number of lanes that were used at once.
    pub fn max_used(&self) -> usize {
        self.max_used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lane_is_reused_after_its_branch_ended() {
        let mut lanes = Lanes::default();
        assert_eq!([lanes.take(), lanes.take(), lanes.take()], [1, 2, 3]);
        lanes.release(2);
        assert_eq!([lanes.take(), lanes.take()], [2, 4]);
        assert_eq!(lanes.max_used(), 4);
    }

    #[test]
    fn excess_branches_share_the_last_lane() {
        let mut lanes = Lanes::default();
        let taken: Vec<_> = (0..20).map(|_| lanes.take()).collect();
        assert_eq!((taken[7], taken[8], taken[19], lanes.max_used()), (8, 8, 8, 8));
        taken[7..].iter().for_each(|lane| lanes.release(*lane));
        assert_eq!([lanes.take(), lanes.take()], [8, 8], "it is free once, and then shared");
    }
}
