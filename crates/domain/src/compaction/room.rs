//! Room: how much a conversation may hold before it is compacted by itself.

/// How much a model reads at once, and how full that may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// What the model reads at once, in tokens.
    pub limit: u64,
    /// The share of it that may be filled before a turn begins, in percent.
    pub percent: u64,
}

/// How much must be added, in percent of the room, before a compaction that was refused is tried again.
const STEP: u64 = 5;

impl Room {
    /// What the house assumes of a model it knows nothing about: 200,000 tokens, four fifths of them.
    pub const HOUSE: Self = Self { limit: 200_000, percent: 80 };

    /// Whether a conversation that fills so many tokens is to be compacted before it goes on. One that was
    /// refused at `refused` gets another chance after it has grown.
    pub fn is_full(self, filled: u64, refused: Option<u64>) -> bool {
        let part = |percent: u64| self.limit / 100 * percent;
        let least = refused.map_or(0, |refused| refused + part(STEP));
        filled >= part(self.percent).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_compaction_waits_until_the_conversation_has_grown() {
        let room = Room::HOUSE;
        let check = |filled, refused, expected| assert_eq!(room.is_full(filled, refused), expected);
        check(159_999, None, false);
        check(160_000, None, true);
        check(165_000, Some(160_000), false);
        check(170_000, Some(160_000), true);
        check(160_000, Some(10_000), true);
    }
}
