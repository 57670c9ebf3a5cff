//! What the assistant makes of a wish: the place of the run that wished it decides.

use jiff::Zoned;

use super::{Answer, Assistant, Effect};
use crate::conversation::Branch;
use crate::embed::{Embed, Footer};
use crate::fork::Exit;
use crate::permission::Authority;
use crate::place::{Follow, Place};
use crate::schedule::ToolRule;
use crate::turn::TurnId;
use crate::wish::Wish;

impl Assistant {
    /// Where `turn` runs and what it may use there: nothing, if it has ended.
    pub(super) fn authority(&self, turn: TurnId) -> Option<Authority> {
        let place = self.place(turn)?;
        let modes = self.memory.chosen.modes;
        let mode = match place {
            Place::Fork => modes.fork.unwrap_or(modes.main),
            Place::Main(_) | Place::Background(_) => modes.main,
        };
        Some(Authority { place, tools: ToolRule::Usual, mode })
    }

    /// Where `turn` runs: nothing, if it has ended.
    fn place(&self, turn: TurnId) -> Option<Place> {
        let (branch, _) = self.run_of(turn)?;
        match branch {
            Branch::Main => Some(Place::Main(Follow::Alone)),
            Branch::Fork(_) => Some(Place::Fork),
        }
    }

    pub(super) fn wished(&mut self, turn: TurnId, wish: Wish, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some(place) = self.place(turn) else { return super::request::gone() };
        if let Err(sentence) = place.admits(wish.tool()) {
            return (Answer::Refused(sentence.to_owned()), Vec::new());
        }
        let tool = wish.tool().name();
        match (wish, place) {
            (Wish::Show(embed, _), Place::Main(_)) => shown(embed, Footer::None),
            (Wish::Show(embed, _), Place::Fork) => shown(embed, Footer::Fork),
            (Wish::EnterFork(asked), Place::Main(_)) => told(
                "Entering fork: this turn is being interrupted, and goes on there.",
                self.enter_asked(asked, now),
            ),
            (Wish::Save, Place::Fork) => told(
                "the fork will be promoted to the main conversation after your response.",
                self.will_leave(Exit::Save, now),
            ),
            (Wish::Report(text), Place::Fork) => told(
                "the summary is queued for main, and the fork is discarded after your response. more tool calls \
                 only delay that.",
                self.will_leave(Exit::Report(text), now),
            ),
            (Wish::ExitFork, Place::Fork) => {
                told("the fork will be discarded after your response.", self.will_leave(Exit::Drop, now))
            }
            (
                Wish::Show(..)
                | Wish::Ping(..)
                | Wish::FollowUp(_)
                | Wish::Save
                | Wish::Report(_)
                | Wish::EnterFork(_)
                | Wish::ExitFork
                | Wish::Compact(_),
                _,
            ) => (
                Answer::Refused(format!("Error: `{tool}` is not available yet. go on without it.")),
                Vec::new(),
            ),
        }
    }
}

fn told(text: &str, effects: Vec<Effect>) -> (Answer, Vec<Effect>) {
    (Answer::Told(text.to_owned()), effects)
}

/// The embed is part of the tool's result, which is written down before anybody sees it.
fn shown(embed: Embed, footer: Footer) -> (Answer, Vec<Effect>) {
    (Answer::Shown(Embed { footer, ..embed }.fitted()), Vec::new())
}
