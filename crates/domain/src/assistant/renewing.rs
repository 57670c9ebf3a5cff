//! Checks whether the program may restart or update now.

use jiff::Zoned;

use super::{Answer, Assistant, Effect};
use crate::renewal::{Renewal, disturbs, is_the_hour, may_look};

impl Assistant {
    /// UP-3, UP-4, UP-6: accepts, or refuses with the reason.
    pub(super) fn may_renew(&self, wanted: Renewal, now: &Zoned) -> (Answer, Vec<Effect>) {
        let settings = &self.memory.chosen.settings;
        let not_now = match wanted {
            Renewal::Look(last) => {
                (!may_look(&settings.updates, last, now)).then_some("it is not time to look.")
            }
            Renewal::ByMyself if !is_the_hour(&settings.updates, &settings.calm.quiet, now) => {
                Some("it is not the hour for it.")
            }
            Renewal::Made if disturbs(&settings.calm.quiet, now) => Some("it is quiet now."),
            Renewal::ByMyself | Renewal::Made | Renewal::Asked => self.at_work(),
        };
        (not_now.map_or(Answer::Noted, |why| Answer::Refused(why.to_owned())), Vec::new())
    }

    /// UP-6, IF-37, L3: returns the work that must not be interrupted.
    fn at_work(&self) -> Option<&'static str> {
        if self.memory.fork.is_some() {
            Some("a side conversation is open; /exit leaves it.")
        } else if !self.memory.turns.runs.is_empty() {
            Some("a background run goes on.")
        } else if !self.running.is_empty() {
            Some("something is being answered.")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::super::{Memory, Question, Request, Saying, Step};
    use super::*;
    use crate::compaction::Room;
    use crate::conversation::{Conversation, EntryId};
    use crate::dice::Dice;
    use crate::record::SurfaceName;
    use crate::settings::Setting;

    fn at(time: &str) -> Zoned {
        format!("2026-11-15T{time}[Europe/Madrid]").parse().unwrap()
    }

    fn idle() -> Assistant {
        let memory = Memory::of(Conversation::new(BTreeMap::new(), EntryId(1)));
        let mut assistant = Assistant::new(memory, Arc::new([]), Room::HOUSE, Dice::new(7));
        Setting::AutoUpdate.set(&mut assistant.memory.chosen.settings, "on").unwrap();
        assistant
    }

    fn asks(assistant: &mut Assistant, wanted: Renewal, time: &str) -> Answer {
        assistant.asked(Request::Tell(Question::MayRenew(wanted)), &at(time)).0
    }

    /// UP-6, IF-37, L3: a restart never interrupts work, and an automatic one also waits for its
    /// hour.
    #[test]
    fn the_program_does_not_end_while_something_goes_on() {
        let mut assistant = idle();
        assert_eq!(asks(&mut assistant, Renewal::Asked, "12:00"), Answer::Noted);
        assert_eq!(asks(&mut assistant, Renewal::ByMyself, "08:10"), Answer::Noted);
        assert!(matches!(asks(&mut assistant, Renewal::ByMyself, "12:00"), Answer::Refused(_)));
        assert!(
            matches!(asks(&mut assistant, Renewal::ByMyself, "06:10"), Answer::Refused(_)),
            "it is quiet"
        );

        assert_eq!(
            asks(&mut assistant, Renewal::Made, "12:00"),
            Answer::Noted,
            "its hour was looked at before"
        );
        assert!(matches!(asks(&mut assistant, Renewal::Made, "06:10"), Answer::Refused(_)), "it is quiet");
        assert_eq!(asks(&mut assistant, Renewal::Asked, "06:10"), Answer::Noted, "the human is awake");

        let mut talking = idle();
        talking.asked(Request::Say(Saying::words(SurfaceName::Page, "go")), &at("12:00"));
        let said = asks(&mut talking, Renewal::Asked, "12:00");
        assert_eq!(said, Answer::Refused("something is being answered.".to_owned()));

        let mut aside = idle();
        aside.asked(Request::Step(Step::Aside(String::new())), &at("12:00"));
        let said = asks(&mut aside, Renewal::Asked, "12:00");
        assert!(matches!(&said, Answer::Refused(why) if why.contains("side conversation")), "{said:?}");
        assert!(matches!(asks(&mut aside, Renewal::ByMyself, "08:10"), Answer::Refused(_)));
        assert!(matches!(asks(&mut aside, Renewal::Made, "12:00"), Answer::Refused(_)));
    }
}
