//! Shortcuts: single letters that trigger an action for a limited time when entered alone.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// How long a shortcut is valid.
const STANDS: Duration = Duration::from_secs(10 * 60);

/// Action of a shortcut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Press a button.
    Press(String),
    /// Ask for a time, then press the button with it.
    When {
        button: String,
        /// Name of the item that is moved.
        what: String,
    },
    /// Submit a command.
    Give(String),
    /// Undo the last change.
    Undo,
}

/// The active shortcuts. A new one replaces an older one with the same letter.
#[derive(Clone, Debug, Default)]
pub struct Offers(BTreeMap<char, (String, Deed, Instant)>);

impl Offers {
    /// Adds a shortcut for `item`.
    pub fn make(&mut self, letter: char, of: &str, deed: Deed, now: Instant) {
        self.0.insert(letter, (of.to_owned(), deed, now + STANDS));
    }

    /// Removes all shortcuts for `item`.
    pub fn withdraw(&mut self, of: &str) {
        self.0.retain(|_, (what, _, _)| what != of);
    }

    /// Returns the action of `letter` at `now`.
    pub fn get(&self, letter: char, now: Instant) -> Option<&Deed> {
        self.0.get(&letter).filter(|(_, _, until)| now < *until).map(|(_, deed, _)| deed)
    }

    /// Returns true if `letter` acts on `item`.
    pub fn is_about(&self, letter: char, of: &str) -> bool {
        self.0.get(&letter).is_some_and(|(what, _, _)| what == of)
    }

    /// Returns the action of a line that is a single letter.
    pub fn of_line(&self, line: &str, now: Instant) -> Option<&Deed> {
        let mut letters = line.trim().chars();
        let letter = letters.next().filter(|_| letters.next().is_none())?;
        self.get(letter, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_does_something_for_ten_minutes_and_the_newest_wins() {
        let mut offers = Offers::default();
        let start = Instant::now();
        let press = |what: &str| Deed::Press(what.to_owned());
        offers.make('d', "a", press("old"), start);
        offers.make('d', "b", press("new"), start);
        offers.make('u', "a", press("undo"), start);
        let soon = start + Duration::from_secs(599);
        assert_eq!(offers.get('d', soon), Some(&press("new")));
        assert_eq!(offers.get('d', start + STANDS), None);
        assert_eq!(offers.of_line(" d ", soon), Some(&press("new")));
        assert_eq!((offers.of_line("dd", soon), offers.of_line("", soon)), (None, None));
        offers.withdraw("b");
        assert_eq!((offers.get('d', soon), offers.get('u', soon).is_some()), (None, true));
    }
}
