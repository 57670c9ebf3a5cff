//! The context window of a model and the fill level at which a conversation is compacted.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextWindow {
    /// The window in tokens.
    pub limit: u64,
    /// The share of it that may be filled before a turn begins, in percent.
    pub fill_percent: u64,
}

/// The growth after which a refused compaction is tried again, in percent of the window.
const RETRY_GROWTH_PERCENT: u64 = 5;

impl ContextWindow {
    /// The default for unknown models.
    pub const DEFAULT: Self = Self { limit: 200_000, fill_percent: 80 };

    /// Returns whether a conversation of `filled` tokens must be compacted before the next turn.
    /// After a refusal at `refused` tokens it must have grown first.
    pub fn is_full(self, filled: u64, refused_at: Option<u64>) -> bool {
        let part = |percent: u64| self.limit / 100 * percent;
        let least = refused_at.map_or(0, |refused_at| refused_at + part(RETRY_GROWTH_PERCENT));
        filled >= part(self.fill_percent).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_compaction_is_retried_after_growth() {
        let room = ContextWindow::DEFAULT;
        let check = |filled, refused, expected| assert_eq!(room.is_full(filled, refused), expected);
        check(159_999, None, false);
        check(160_000, None, true);
        check(165_000, Some(160_000), false);
        check(170_000, Some(160_000), true);
        check(160_000, Some(10_000), true);
    }
}
