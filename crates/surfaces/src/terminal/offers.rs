//! Offers: single letters that do something, for a while, if nothing else is typed.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// How long a letter is an offer.
const STANDS: Duration = Duration::from_secs(10 * 60);

/// What a letter does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It presses a button.
    Press(String),
    /// It asks when, and presses a button with the answer.
    When {
        /// The button.
        button: String,
        /// What is moved.
        what: String,
    },
    /// It gives a command.
    Give(String),
    /// It takes the last change back.
    Undo,
}

/// The letters that do something now. The newest of each wins.
#[derive(Clone, Debug, Default)]
pub struct Offers(BTreeMap<char, (String, Deed, Instant)>);

impl Offers {
    /// From `now` on, `letter` does this to what is called `of`.
    pub fn make(&mut self, letter: char, of: &str, deed: Deed, now: Instant) {
        self.0.insert(letter, (of.to_owned(), deed, now + STANDS));
    }

    /// What can be done to what is called `of` is no offer any more.
    pub fn withdraw(&mut self, of: &str) {
        self.0.retain(|_, (what, _, _)| what != of);
    }

    /// What `letter` does at `now`.
    pub fn get(&self, letter: char, now: Instant) -> Option<&Deed> {
        self.0.get(&letter).filter(|(_, _, until)| now < *until).map(|(_, deed, _)| deed)
    }

    /// Whether `letter` does something to what is called `of`.
    pub fn is_about(&self, letter: char, of: &str) -> bool {
        self.0.get(&letter).is_some_and(|(what, _, _)| what == of)
    }

    /// What a line does that is one letter.
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
