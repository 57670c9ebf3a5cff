//! Interleaved pings of several runs, for thousands of seeds: no ping limit is exceeded.

use std::collections::BTreeMap;

use domain::assistant::{Answer, Request, ScheduleCommand, TurnRequest};
use domain::context_tool::{ContextTool, Urgency};
use domain::cost::CostSource;
use domain::place::{BackgroundPlace, ChainPosition};
use domain::rng::Rng;
use domain::run::Job;
use domain::schedule::Prompt;
use domain::tool::{Outcome, ShownContent, ToolResult};
use domain::turn::{TurnEnding, TurnId};
use jiff::SignedDuration;

use crate::simulation::{START, Simulation, below, finish_after, unrestricted_terms};

/// A9, BF-21, BF-22, PB-7, PB-8, PB-9: for any interleaving of pings and any crash, exactly the
/// shown pings are charged, and no limit is exceeded.
#[test]
fn charged_pings_are_the_shown_pings() {
    for seed in 0..1_000 {
        PingSimulation::new(seed).run();
    }
}

/// A9: the same invariant for 9,000 more seeds.
#[test]
#[ignore = "it takes half a minute"]
fn charged_pings_are_the_shown_pings_for_many_seeds() {
    for seed in 1_000..10_000 {
        PingSimulation::new(seed).run();
    }
}

/// Runs that ping, and the pings that were shown.
struct PingSimulation {
    simulation: Simulation,
    dice: Rng,
    /// The pings that each turn was allowed and has not shown yet.
    allowed: BTreeMap<TurnId, Vec<Urgency>>,
    shown: Vec<(CostSource, Urgency)>,
    runs: u32,
}

impl PingSimulation {
    fn new(seed: u64) -> Self {
        let simulation =
            Simulation::new(START, seed, Vec::new(), finish_after(SignedDuration::from_hours(9)));
        Self { simulation, dice: Rng::new(seed), allowed: BTreeMap::new(), shown: Vec::new(), runs: 0 }
    }

    fn run(mut self) {
        for _ in 0..24 {
            let turns: Vec<TurnId> = self.simulation.running.keys().copied().collect();
            let turn = turns.get(below(&mut self.dice, 4) as usize).copied();
            match (below(&mut self.dice, 9), turn) {
                (0..=4, Some(turn)) => self.request_ping(turn),
                (5..=6, Some(turn)) => self.show_pings(turn),
                (7, Some(turn)) => {
                    self.allowed.remove(&turn);
                    if let Some((_, _, ending)) = self.simulation.running.get_mut(&turn) {
                        *ending = TurnEnding::Finished;
                    }
                    self.simulation.end_turn(turn);
                }
                (8, Some(_)) if below(&mut self.dice, 3) == 0 => {
                    self.allowed.clear();
                    self.simulation.restart();
                }
                _ => self.start_run(),
            }
            self.check_limits();
        }
    }

    fn start_run(&mut self) {
        self.runs += 1;
        let source = CostSource::Routine(format!("r{}", self.runs));
        let mode = BackgroundPlace::Isolated(ChainPosition::NotInChain);
        let terms = unrestricted_terms();
        let prompt = Prompt::new("ping");
        let job = Job { name: source.to_string(), source, place: mode, terms, prompt };
        self.simulation.ask(Request::Schedule(ScheduleCommand::RunJob(job)));
    }

    fn request_ping(&mut self, turn: TurnId) {
        let urgency = if below(&mut self.dice, 3) == 0 { Urgency::Critical } else { Urgency::Normal };
        let ping = TurnRequest::UseContextTool(ContextTool::Ping("up".to_owned(), urgency));
        if let Answer::Shown(_) = self.simulation.ask(Request::Turn(turn, ping)) {
            self.allowed.entry(turn).or_default().push(urgency);
        }
    }

    fn show_pings(&mut self, turn: TurnId) {
        let asked = self.allowed.remove(&turn).unwrap_or_default();
        let result = |_: &Urgency| ToolResult {
            call: "c".to_owned(),
            text: "sent".to_owned(),
            outcome: Outcome::Shown(ShownContent::Text("up".to_owned())),
            label: domain::label::Label::PLAIN,
        };
        let source = self.simulation.running[&turn].0.account.source.clone();
        self.simulation.ask(Request::Turn(turn, TurnRequest::CallsDone(asked.iter().map(result).collect())));
        self.shown.extend(asked.into_iter().map(|urgency| (source.clone(), urgency)));
    }

    fn check_limits(&self) {
        let count =
            |wanted: Urgency| self.shown.iter().filter(|(_, urgency)| *urgency == wanted).count() as u32;
        let Some(budget) = self.simulation.log.pings else { return assert!(self.shown.is_empty()) };
        assert_eq!(
            (budget.used.count, budget.critical.count),
            (count(Urgency::Normal), count(Urgency::Critical))
        );
        assert!((0.0..=5.0).contains(&budget.available) && budget.critical.count <= 3, "{budget:?}");
        assert!((budget.available + f64::from(budget.used.count) - 5.0).abs() < 1e-6, "{budget:?}");
        let mut seen: BTreeMap<&CostSource, Vec<Urgency>> = BTreeMap::new();
        self.shown.iter().for_each(|(source, urgency)| seen.entry(source).or_default().push(*urgency));
        let once = |sent: &Vec<Urgency>| {
            [Urgency::Normal, Urgency::Critical]
                .iter()
                .all(|kind| sent.iter().filter(|one| *one == kind).count() <= 1)
        };
        assert!(seen.values().all(once), "{seen:?}");
    }
}
