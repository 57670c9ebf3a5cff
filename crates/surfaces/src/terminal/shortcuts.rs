//! Shortcuts: single letters that trigger an action for a limited time when entered alone.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// How long a shortcut is valid.
const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// Action of a shortcut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShortcutAction {
    /// Press a button.
    Press(String),
    /// Ask for a time, then press the button with it.
    AskTime {
        button: String,
        /// Name of the item that is moved.
        name: String,
    },
    /// Submit a command.
    Submit(String),
    /// Undo the last change.
    Undo,
}

/// The active shortcuts. A new one replaces an older one with the same letter.
#[derive(Clone, Debug, Default)]
pub struct Shortcuts(BTreeMap<char, (String, ShortcutAction, Instant)>);

impl Shortcuts {
    /// Adds a shortcut for `item`.
    pub fn add(&mut self, letter: char, item: &str, action: ShortcutAction, now: Instant) {
        self.0.insert(letter, (item.to_owned(), action, now + LIFETIME));
    }

    /// Removes all shortcuts for `item`.
    pub fn remove(&mut self, item: &str) {
        self.0.retain(|_, (what, _, _)| what != item);
    }

    /// Returns the action of `letter` at `now`.
    pub fn get(&self, letter: char, now: Instant) -> Option<&ShortcutAction> {
        self.0.get(&letter).filter(|(_, _, until)| now < *until).map(|(_, deed, _)| deed)
    }

    /// Returns true if `letter` acts on `item`.
    pub fn is_for(&self, letter: char, item: &str) -> bool {
        self.0.get(&letter).is_some_and(|(what, _, _)| what == item)
    }

    /// Returns the action of a line that is a single letter.
    pub fn for_line(&self, line: &str, now: Instant) -> Option<&ShortcutAction> {
        let mut letters = line.trim().chars();
        let letter = letters.next().filter(|_| letters.next().is_none())?;
        self.get(letter, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortcut_is_valid_for_ten_minutes_and_the_newest_wins() {
        let mut offers = Shortcuts::default();
        let start = Instant::now();
        let press = |what: &str| ShortcutAction::Press(what.to_owned());
        offers.add('d', "a", press("old"), start);
        offers.add('d', "b", press("new"), start);
        offers.add('u', "a", press("undo"), start);
        let soon = start + Duration::from_secs(599);
        assert_eq!(offers.get('d', soon), Some(&press("new")));
        assert_eq!(offers.get('d', start + LIFETIME), None);
        assert_eq!(offers.for_line(" d ", soon), Some(&press("new")));
        assert_eq!((offers.for_line("dd", soon), offers.for_line("", soon)), (None, None));
        offers.remove("b");
        assert_eq!((offers.get('d', soon), offers.get('u', soon).is_some()), (None, true));
    }
}
