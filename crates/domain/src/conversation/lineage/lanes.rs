//! Assigns branches to the lanes beside the trunk.

use std::collections::BTreeSet;

/// The most lanes beside the trunk. Further branches share the last one.
const MOST: usize = 8;

/// The free lanes. The trunk is 0 and belongs to main.
#[derive(Default)]
pub struct Lanes {
    free: BTreeSet<usize>,
    most: usize,
    sharing: usize,
}

impl Lanes {
    /// Takes the free lane nearest to the trunk.
    pub fn take(&mut self) -> usize {
        match self.free.pop_first() {
            Some(lane) => lane,
            None if self.most < MOST => {
                self.most += 1;
                self.most
            }
            None => {
                self.sharing += 1;
                MOST
            }
        }
    }

    /// Releases the lane of a branch that ended.
    pub fn give_back(&mut self, lane: usize) {
        match (lane, self.sharing) {
            (MOST, 1..) => self.sharing -= 1,
            _ => {
                self.free.insert(lane);
            }
        }
    }

    /// Returns the largest number of lanes that were used at once.
    pub fn most(&self) -> usize {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_free_again_when_its_branch_has_ended() {
        let mut lanes = Lanes::default();
        assert_eq!([lanes.take(), lanes.take(), lanes.take()], [1, 2, 3]);
        lanes.give_back(2);
        assert_eq!([lanes.take(), lanes.take()], [2, 4]);
        assert_eq!(lanes.most(), 4);
    }

    #[test]
    fn a_crowd_shares_the_last_lane() {
        let mut lanes = Lanes::default();
        let taken: Vec<_> = (0..20).map(|_| lanes.take()).collect();
        assert_eq!((taken[7], taken[8], taken[19], lanes.most()), (8, 8, 8, 8));
        taken[7..].iter().for_each(|lane| lanes.give_back(*lane));
        assert_eq!([lanes.take(), lanes.take()], [8, 8], "it is free once, and then shared");
    }
}
