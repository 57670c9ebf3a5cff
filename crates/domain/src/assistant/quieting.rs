//! Quiet: whether something may ring now, and what the human hears of how their attention is spared.

use jiff::Zoned;

use super::Assistant;
use crate::attention::{Attention, Pushes};
use crate::ping_budget::PingBudget;

impl Assistant {
    /// How the human's attention is spared now.
    pub(super) fn attention(&self, now: &Zoned) -> Attention {
        let calm = self.memory.chosen.settings.calm.clone();
        Attention {
            quiet_until: calm.quiet.until(now),
            focus: None,
            next_digest: calm.digests.next(now),
            held: Vec::new(),
            pushes: Pushes::default().on(now.date()),
            pings: self.memory.chosen.pings.unwrap_or_else(|| PingBudget::full(now)).at(now),
            disliked: Vec::new(),
            calm,
        }
    }
}
