//! Records when routines fired and to which time the user moved them, and suggests a new time.

use std::collections::BTreeMap;

use jiff::civil::Time;
use jiff::{SignedDuration, Timestamp, Zoned};

/// The maximum number of firings stored per routine.
const MAX_FIRINGS: usize = 8;
/// The maximum number of routines.
const MAX_ROUTINES: usize = 64;
/// The number of moves to the same time that leads to a suggestion.
const MIN_MOVES: usize = 5;
/// The tolerance within which two times count as the same.
const SAME_TIME_TOLERANCE: SignedDuration = SignedDuration::from_mins(20);
/// The minimum time between two suggestions.
const MIN_SUGGESTION_INTERVAL: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The recent firings of routines, and moves by the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoutineMoves {
    /// The last firings of each routine, oldest first.
    pub firings: BTreeMap<String, Vec<Firing>>,
    /// The time of the last suggestion.
    pub last_suggested: Option<Timestamp>,
}

/// One firing of a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firing {
    pub due: Timestamp,
    /// The time to which the user moved it.
    pub moved_to: Option<Timestamp>,
}

/// A suggestion to move a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveSuggestion {
    /// The number of moves to that time.
    pub moved: usize,
    /// The number of firings considered.
    pub total: usize,
    /// The suggested time of day.
    pub to: Time,
}

impl RoutineMoves {
    /// Records a firing.
    pub fn record_firing(&mut self, routine: &str, due: Timestamp) {
        let rings = self.firings.entry(routine.to_owned()).or_default();
        rings.push(Firing { due, moved_to: None });
        if rings.len() > MAX_FIRINGS {
            rings.remove(0);
        }
        if self.firings.len() > MAX_ROUTINES {
            let last = |rings: &Vec<Firing>| rings.last().map(|ring| ring.due);
            let oldest = self.firings.iter().min_by_key(|(_, rings)| last(rings)).map(|(id, _)| id.clone());
            oldest.map(|id| self.firings.remove(&id));
        }
    }

    /// Records a move of the last firing of a routine; a later move replaces it.
    pub fn record_move(&mut self, routine: &str, to: Timestamp) {
        if let Some(ring) = self.firings.get_mut(routine).and_then(|rings| rings.last_mut()) {
            ring.moved_to = Some(to);
        }
    }

    /// R20: the suggestion that follows from the last firings, at most one per week over all
    /// routines.
    pub fn suggestion(&self, routine: &str, now: &Zoned) -> Option<MoveSuggestion> {
        let since = self.last_suggested.map(|last| now.timestamp().duration_since(last));
        if since.is_some_and(|since| since < MIN_SUGGESTION_INTERVAL) {
            return None;
        }
        let rings = self.firings.get(routine)?;
        let clock = |at: Timestamp| at.to_zoned(now.time_zone().clone());
        let wanted = rings.iter().filter_map(|ring| {
            let due = clock(ring.due);
            let to = clock(ring.moved_to?);
            (due.date() == to.date()).then(|| to.time().round(jiff::Unit::Minute).unwrap_or(to.time()))
        });
        let wanted: Vec<Time> = wanted.collect();
        let near = |one: Time, other: Time| one.duration_since(other).abs() <= SAME_TIME_TOLERANCE;
        let votes = |time: Time| wanted.iter().filter(|other| near(time, **other)).count();
        let same = |time: Time| wanted.iter().filter(|other| **other == time).count();
        let to = wanted.iter().copied().max_by_key(|time| (votes(*time), same(*time)))?;
        let moved = votes(to);
        let of = rings.len();
        (moved >= MIN_MOVES).then_some(MoveSuggestion { moved, total: of, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Zoned {
        format!("2026-11-{time}[Europe/Madrid]").parse().unwrap()
    }

    /// A routine that fired at 11:00 daily from the 2nd on, and was moved to these times.
    fn moves(to: &[Option<&str>]) -> RoutineMoves {
        let mut moves = RoutineMoves::default();
        for (day, to) in (2..).zip(to) {
            moves.record_firing("stretch", at(&format!("{day:02}T11:00")).timestamp());
            if let Some(to) = to {
                moves.record_move("stretch", at(&format!("{day:02}T{to}")).timestamp());
            }
        }
        moves
    }

    /// Five moves to about the same time lead to a suggestion; fewer or scattered moves do not, and
    /// the next suggestion comes a week later at the earliest.
    #[test]
    fn five_moves_to_one_time_lead_to_a_suggestion() {
        let one = Some("14:00");
        let now = at("20T12:00");
        let told = |moves: &RoutineMoves| {
            moves.suggestion("stretch", &now).map(|found| (found.moved, found.total, found.to))
        };
        let two = jiff::civil::time(14, 0, 0, 0);
        assert_eq!(told(&moves(&[one, one, None, one, one, one])), Some((5, 6, two)));
        assert_eq!(told(&moves(&[one, one, Some("14:10"), one, Some("13:55")])), Some((5, 5, two)));
        assert_eq!(told(&moves(&[one, one, one, one])), None);
        assert_eq!(told(&moves(&[one, Some("16:00"), one, Some("18:00"), one, one])), None);
        assert_eq!(told(&moves(&[])), None);
        let mut asked = moves(&[one; 12]);
        assert_eq!((asked.firings["stretch"].len(), told(&asked)), (8, Some((8, 8, two))));
        asked.last_suggested = Some(at("13T12:01").timestamp());
        assert_eq!(told(&asked), None);
        asked.last_suggested = Some(at("13T12:00").timestamp());
        assert!(told(&asked).is_some());
    }

    /// The number of stored routines is limited.
    #[test]
    fn the_number_of_routines_is_limited() {
        let mut moves = RoutineMoves::default();
        for nth in 0..100 {
            moves.record_firing(
                &format!("r{nth:03}"),
                at("02T11:00").timestamp() + SignedDuration::from_mins(nth),
            );
        }
        assert_eq!((moves.firings.len(), moves.firings.contains_key("r035")), (MAX_ROUTINES, false));
    }
}
