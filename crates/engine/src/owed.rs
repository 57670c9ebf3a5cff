//! What is owed to the journal: what happened and could not be written down yet.
//!
//! Nothing of it is lost. But a disk stays full for days, and the human goes on meanwhile: what says no more the second
//! time is kept once.

use std::collections::VecDeque;

use domain::assistant::Event;

/// What happened, oldest first.
#[derive(Debug, Default)]
pub struct Owed(VecDeque<Event>);

impl Owed {
    /// Whether nothing is owed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// This, too.
    pub fn add(&mut self, event: Event) {
        self.0.retain(|before| !before.is_outdated_by(&event));
        self.0.push_back(event);
    }

    /// All of it, to be tried again.
    pub fn take(&mut self) -> VecDeque<Event> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use domain::record::SurfaceName;

    use super::*;

    /// B3: a full disk fills no memory, however often the human is seen; and nothing that says something is lost.
    #[test]
    fn what_says_no_more_the_second_time_is_owed_once() {
        let mut owed = Owed::default();
        for minute in 0..1_000 {
            owed.add(Event::Woke);
            owed.add(Event::KeyRenewed);
            owed.add(Event::Seen(SurfaceName::Page));
            owed.add(Event::Seen(SurfaceName::Terminal));
            if minute % 500 == 0 {
                owed.add(Event::Told(format!("minute {minute}")));
                owed.add(Event::Told(format!("minute {minute}")));
            }
        }
        owed.add(Event::Seen(SurfaceName::Page));
        let owed: Vec<String> = owed.take().iter().map(|event| format!("{event:?}")).collect();
        let first =
            ["Told(\"minute 0\")", "Told(\"minute 0\")", "Told(\"minute 500\")", "Told(\"minute 500\")"];
        let last = ["Woke", "KeyRenewed", "Seen(Terminal)", "Seen(Page)"];
        assert_eq!(owed, [first, last].concat());
    }
}
