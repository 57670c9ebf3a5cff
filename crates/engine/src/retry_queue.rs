//! Events that could not be written to the journal yet.
//!
//! None is lost. A disk can stay full for days while the user continues, so an event that makes an
//! earlier one redundant replaces it.

use std::collections::VecDeque;

use domain::assistant::Event;

/// The events to retry, oldest first.
#[derive(Debug, Default)]
pub struct RetryQueue(VecDeque<Event>);

impl RetryQueue {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an event and removes those that it makes redundant.
    pub fn add(&mut self, event: Event) {
        self.0.retain(|before| !before.is_outdated_by(&event));
        self.0.push_back(event);
    }

    /// Takes all events, to retry them.
    pub fn take_all(&mut self) -> VecDeque<Event> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use domain::record::SurfaceName;

    use super::*;

    /// B3: a full disk does not fill the memory however often the user is seen, and no event with
    /// content is lost.
    #[test]
    fn redundant_events_are_queued_once() {
        let mut owed = RetryQueue::default();
        for minute in 0..1_000 {
            owed.add(Event::Woke);
            owed.add(Event::KeyRenewed);
            owed.add(Event::UserSeen(SurfaceName::Page));
            owed.add(Event::UserSeen(SurfaceName::Terminal));
            if minute % 500 == 0 {
                owed.add(Event::Announced(format!("minute {minute}")));
                owed.add(Event::Announced(format!("minute {minute}")));
            }
        }
        owed.add(Event::UserSeen(SurfaceName::Page));
        let owed: Vec<String> = owed.take_all().iter().map(|event| format!("{event:?}")).collect();
        let first = [
            "Announced(\"minute 0\")",
            "Announced(\"minute 0\")",
            "Announced(\"minute 500\")",
            "Announced(\"minute 500\")",
        ];
        let last = ["Woke", "KeyRenewed", "UserSeen(Terminal)", "UserSeen(Page)"];
        assert_eq!(owed, [first, last].concat());
    }
}
