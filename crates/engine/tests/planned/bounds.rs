//! Interleaved pings of several runs, for thousands of seeds: no ping limit is exceeded.

use std::collections::BTreeMap;

use domain::assistant::{Answer, Planning, Progress, Request};
use domain::cost::Source;
use domain::dice::Dice;
use domain::place::{Aside, Follow};
use domain::run::Job;
use domain::schedule::Prompt;
use domain::tool::{Outcome, Showing, ToolResult};
use domain::turn::{Ending, TurnId};
use domain::wish::{Urgency, Wish};
use jiff::SignedDuration;

use crate::life::{Life, START, below, freely, takes};

/// A9, BF-21, BF-22, PB-7, PB-8, PB-9: for any interleaving of pings and any crash, exactly the
/// shown pings are charged, and no limit is exceeded.
#[test]
fn what_is_charged_is_what_was_shown() {
    for seed in 0..1_000 {
        Pinging::new(seed).goes_on();
    }
}

/// A9: the same invariant for 9,000 more seeds.
#[test]
#[ignore = "it takes half a minute"]
fn what_is_charged_is_what_was_shown_ten_thousand_times() {
    for seed in 1_000..10_000 {
        Pinging::new(seed).goes_on();
    }
}

/// Runs that ping, and the pings that were shown.
struct Pinging {
    life: Life,
    dice: Dice,
    /// The pings that each turn was allowed and has not shown yet.
    asked: BTreeMap<TurnId, Vec<Urgency>>,
    shown: Vec<(Source, Urgency)>,
    runs: u32,
}

impl Pinging {
    fn new(seed: u64) -> Self {
        let life = Life::new(START, seed, Vec::new(), takes(SignedDuration::from_hours(9)));
        Self { life, dice: Dice::new(seed), asked: BTreeMap::new(), shown: Vec::new(), runs: 0 }
    }

    fn goes_on(mut self) {
        for _ in 0..24 {
            let turns: Vec<TurnId> = self.life.running.keys().copied().collect();
            let turn = turns.get(below(&mut self.dice, 4) as usize).copied();
            match (below(&mut self.dice, 9), turn) {
                (0..=4, Some(turn)) => self.wishes(turn),
                (5..=6, Some(turn)) => self.shows(turn),
                (7, Some(turn)) => {
                    self.asked.remove(&turn);
                    if let Some((_, _, ending)) = self.life.running.get_mut(&turn) {
                        *ending = Ending::Finished;
                    }
                    self.life.ends(turn);
                }
                (8, Some(_)) if below(&mut self.dice, 3) == 0 => {
                    self.asked.clear();
                    self.life.wake();
                }
                _ => self.begins(),
            }
            self.holds();
        }
    }

    fn begins(&mut self) {
        self.runs += 1;
        let source = Source::Routine(format!("r{}", self.runs));
        let aside = Aside::Isolated(Follow::Alone);
        let terms = freely();
        let prompt = Prompt::new("ping");
        let job = Job { name: source.to_string(), source, aside, terms, prompt };
        self.life.asks(Request::Plan(Planning::Do(job)));
    }

    fn wishes(&mut self, turn: TurnId) {
        let urgency = if below(&mut self.dice, 3) == 0 { Urgency::Critical } else { Urgency::Normal };
        let wish = Progress::Wishes(Wish::Ping("up".to_owned(), urgency));
        if let Answer::Shown(_) = self.life.asks(Request::Turn(turn, wish)) {
            self.asked.entry(turn).or_default().push(urgency);
        }
    }

    fn shows(&mut self, turn: TurnId) {
        let asked = self.asked.remove(&turn).unwrap_or_default();
        let result = |_: &Urgency| ToolResult {
            call: "c".to_owned(),
            text: "sent".to_owned(),
            outcome: Outcome::Shown(Showing::Words("up".to_owned())),
            label: domain::label::Label::PLAIN,
        };
        let source = self.life.running[&turn].0.account.source.clone();
        self.life.asks(Request::Turn(turn, Progress::Ran(asked.iter().map(result).collect())));
        self.shown.extend(asked.into_iter().map(|urgency| (source.clone(), urgency)));
    }

    fn holds(&self) {
        let count =
            |wanted: Urgency| self.shown.iter().filter(|(_, urgency)| *urgency == wanted).count() as u32;
        let Some(budget) = self.life.log.pings else { return assert!(self.shown.is_empty()) };
        assert_eq!(
            (budget.used.count, budget.critical.count),
            (count(Urgency::Normal), count(Urgency::Critical))
        );
        assert!((0.0..=5.0).contains(&budget.available) && budget.critical.count <= 3, "{budget:?}");
        assert!((budget.available + f64::from(budget.used.count) - 5.0).abs() < 1e-6, "{budget:?}");
        let mut seen: BTreeMap<&Source, Vec<Urgency>> = BTreeMap::new();
        self.shown.iter().for_each(|(source, urgency)| seen.entry(source).or_default().push(*urgency));
        let once = |sent: &Vec<Urgency>| {
            [Urgency::Normal, Urgency::Critical]
                .iter()
                .all(|kind| sent.iter().filter(|one| *one == kind).count() <= 1)
        };
        assert!(seen.values().all(once), "{seen:?}");
    }
}
