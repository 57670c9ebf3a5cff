//! Checks whether the program may restart or update now.

use jiff::Zoned;

use super::{Answer, Assistant, Effect};
use crate::maintenance::{MaintenanceQuestion, is_check_due, is_quiet, is_update_hour};

impl Assistant {
    /// UP-3, UP-4, UP-6: accepts, or refuses with the reason.
    pub(super) fn may_restart(&self, request: MaintenanceQuestion, now: &Zoned) -> (Answer, Vec<Effect>) {
        let settings = &self.state.choices.settings;
        let reason = match request {
            MaintenanceQuestion::CheckForUpdate(last) => {
                (!is_check_due(&settings.updates, last, now)).then_some("it is not time to look.")
            }
            MaintenanceQuestion::InstallUpdate
                if !is_update_hour(&settings.updates, &settings.notifications.quiet_hours, now) =>
            {
                Some("it is not the hour for it.")
            }
            MaintenanceQuestion::RestartIntoUpdate if is_quiet(&settings.notifications.quiet_hours, now) => {
                Some("it is quiet now.")
            }
            MaintenanceQuestion::InstallUpdate
            | MaintenanceQuestion::RestartIntoUpdate
            | MaintenanceQuestion::RestartOnRequest => self.active_work(),
        };
        (reason.map_or(Answer::Done, |why| Answer::Refused(why.to_owned())), Vec::new())
    }

    /// UP-6, IF-37, L3: returns the work that must not be interrupted.
    fn active_work(&self) -> Option<&'static str> {
        if self.state.fork.is_some() {
            Some("a side conversation is open; /exit leaves it.")
        } else if !self.state.turns.runs.is_empty() {
            Some("a background run goes on.")
        } else if !self.active_turns.is_empty() {
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

    use super::super::{ForkCommand, Query, Request, State, UserMessage};
    use super::*;
    use crate::compaction::ContextWindow;
    use crate::conversation::{Conversation, EntryId};
    use crate::record::SurfaceName;
    use crate::rng::Rng;
    use crate::settings::Setting;

    fn at(time: &str) -> Zoned {
        format!("2026-11-15T{time}[Europe/Madrid]").parse().unwrap()
    }

    fn idle_assistant() -> Assistant {
        let memory = State::new(Conversation::new(BTreeMap::new(), EntryId(1)));
        let mut assistant = Assistant::new(memory, Arc::new([]), ContextWindow::DEFAULT, Rng::new(7));
        Setting::AutoUpdate.set(&mut assistant.state.choices.settings, "on").unwrap();
        assistant
    }

    fn ask_restart(assistant: &mut Assistant, wanted: MaintenanceQuestion, time: &str) -> Answer {
        assistant.handle(Request::Query(Query::MayRestart(wanted)), &at(time)).0
    }

    /// UP-6, IF-37, L3: a restart never interrupts work, and an automatic one also waits for its
    /// hour.
    #[test]
    fn restart_waits_for_active_work() {
        let mut assistant = idle_assistant();
        assert_eq!(ask_restart(&mut assistant, MaintenanceQuestion::RestartOnRequest, "12:00"), Answer::Done);
        assert_eq!(ask_restart(&mut assistant, MaintenanceQuestion::InstallUpdate, "08:10"), Answer::Done);
        assert!(matches!(
            ask_restart(&mut assistant, MaintenanceQuestion::InstallUpdate, "12:00"),
            Answer::Refused(_)
        ));
        assert!(
            matches!(
                ask_restart(&mut assistant, MaintenanceQuestion::InstallUpdate, "06:10"),
                Answer::Refused(_)
            ),
            "it is quiet"
        );

        assert_eq!(
            ask_restart(&mut assistant, MaintenanceQuestion::RestartIntoUpdate, "12:00"),
            Answer::Done,
            "its hour was looked at before"
        );
        assert!(
            matches!(
                ask_restart(&mut assistant, MaintenanceQuestion::RestartIntoUpdate, "06:10"),
                Answer::Refused(_)
            ),
            "it is quiet"
        );
        assert_eq!(
            ask_restart(&mut assistant, MaintenanceQuestion::RestartOnRequest, "06:10"),
            Answer::Done,
            "the human is awake"
        );

        let mut talking = idle_assistant();
        talking.handle(Request::Say(UserMessage::from_text(SurfaceName::Page, "go")), &at("12:00"));
        let said = ask_restart(&mut talking, MaintenanceQuestion::RestartOnRequest, "12:00");
        assert_eq!(said, Answer::Refused("something is being answered.".to_owned()));

        let mut aside = idle_assistant();
        aside.handle(Request::Fork(ForkCommand::Enter(String::new())), &at("12:00"));
        let said = ask_restart(&mut aside, MaintenanceQuestion::RestartOnRequest, "12:00");
        assert!(matches!(&said, Answer::Refused(why) if why.contains("side conversation")), "{said:?}");
        assert!(matches!(
            ask_restart(&mut aside, MaintenanceQuestion::InstallUpdate, "08:10"),
            Answer::Refused(_)
        ));
        assert!(matches!(
            ask_restart(&mut aside, MaintenanceQuestion::RestartIntoUpdate, "12:00"),
            Answer::Refused(_)
        ));
    }
}
