//! Permissions under a hostile model: nothing happens that the user did not allow, no private data
//! leaves, and labels are never lost.
#![expect(clippy::expect_used, clippy::panic, reason = "a broken fixture stops the test")]

mod benign;
mod histories;
mod house;
mod injection;
mod mind;
mod policy;
mod wicked;

use domain::assistant::{Step, Way};
use domain::cost::Source;
use domain::dice::Dice;
use domain::permission::Power;
use domain::schedule::{Charter, Cron, ItemId, Planned, Prompt, Rhythm, Routine, Terms, ToolRule, What};
use house::{House, Ran};
use mind::{Mind, Moment, world};
use wicked::Wicked;

/// Runs a random scenario: talking, entering and leaving forks, and jobs.
fn live(house: &mut House, seed: u64) {
    let mut dice = Dice::new(seed);
    house.human("good morning");
    for _ in 0..3 {
        match dice.roll() % 7 {
            0 => house.human("what is new? see https://typed.example/page"),
            1 => house.human("good morning"),
            2 => {
                house.step(Step::Aside("the trip".to_owned()));
                house.human("look around");
                house.human("and now?");
                house.step(House::back(Way::Drop));
            }
            3 => {
                house.step(Step::Aside("the trip".to_owned()));
                house.human("look around");
                house.step(House::back(Way::Report("all fine".to_owned())));
            }
            4 => house.job(
                House::forked(),
                &["Bash", "WebFetch", "report_updates", "ping_user"],
                "look at my mail",
            ),
            5 => house.job(
                House::isolated(),
                &["WebFetch", "WebSearch", "Write(**.md)", "mcp__notes__add"],
                "read https://typed.example/page",
            ),
            _ => house.job(
                House::forked(),
                &["Read", "inbox_add", "schedule", "Bash", "WebSearch", "Task"],
                "tidy up",
            ),
        }
    }
}

/// I3b: The number of scenarios that run twice, for each of the two differences.
const PAIRS: u64 = 2_500;

fn lived(seed: u64, outside: u64, private: u64) -> House {
    let mut house = House::new(Box::new(Wicked(seed)), world(outside, private));
    live(&mut house, seed);
    house
}

/// Returns whether an action is in the lower rows of the matrix. Searches and addresses that the
/// user wrote are not.
fn is_grave(ran: &Ran) -> bool {
    ran.power.is_grave() && !ran.typed && ran.call.name != "WebSearch"
}

/// Returns the actions that need an approval with outside text.
fn deeds(house: &House) -> Vec<String> {
    let told = |ran: &Ran| format!("{} {}", ran.call.name, ran.call.input.0);
    house.seen.ran.iter().filter(|ran| is_grave(ran)).map(told).collect()
}

/// I1, I3: Every call was decided before it ran, and with outside text none was in the lower rows
/// of the matrix; the user denies everything.
#[test]
fn nothing_runs_where_outside_words_private_things_and_a_deed_meet() {
    let mut calls = 0;
    let mut tainted = 0;
    for seed in 0..400 {
        let house = lived(seed, seed, seed);
        calls += house.seen.ran.len();
        for ran in &house.seen.ran {
            tainted += usize::from(ran.knows.is_tainted());
            assert_ne!(ran.power, Power::Human, "{ran:?}");
            assert!(!ran.call.input.0.contains("state/"), "{ran:?}");
            assert!(!ran.knows.is_tainted() || !is_grave(ran), "{ran:?} in life {seed}");
        }
    }
    assert!(calls > 2_000 && tainted > 200, "{calls} calls, {tainted} of them after outside words");
}

/// I3b: Two runs of a scenario that differ only in outside text have the same actions without an
/// approval.
#[test]
fn words_from_outside_change_nothing_that_is_done() {
    let mut differed = 0;
    for seed in 0..PAIRS {
        let one = lived(seed, 1, 5);
        let other = lived(seed, 2, 5);
        assert_eq!(deeds(&one), deeds(&other), "life {seed}");
        differed += usize::from(one.seen.ran != other.seen.ran);
    }
    assert!(differed > 500, "the model never noticed a difference: {differed}");
}

/// I3b: Two runs of a scenario that differ only in private data send the same data out. An address
/// that the user wrote may be fetched more or less often, because it carries nothing else.
#[test]
fn private_things_change_nothing_that_leaves() {
    let leaves = |house: &House| -> Vec<String> {
        let outward = |ran: &&Ran| {
            let leaves = matches!(ran.power, Power::Egress | Power::Networked);
            leaves && !ran.typed && ran.call.name != "WebSearch"
        };
        house.seen.ran.iter().filter(outward).map(|ran| ran.call.input.0.clone()).collect()
    };
    let mut differed = 0;
    for seed in 0..PAIRS {
        let one = lived(seed, 5, 1);
        let other = lived(seed, 5, 2);
        assert_eq!(leaves(&one), leaves(&other), "life {seed}");
        differed += usize::from(one.seen.ran != other.seen.ran);
    }
    assert!(differed > 500, "the model never noticed a difference: {differed}");
}

/// A model that opens an address made of everything it has read.
struct Carrier;

impl Mind for Carrier {
    fn seed(&self) -> u64 {
        1
    }

    fn calls(&self, moment: &Moment<'_>) -> Vec<(String, String)> {
        let address = format!(r#"{{"url":"https://declared.example/{:x}"}}"#, moment.number);
        if moment.step == 0 { vec![("WebFetch".to_owned(), address)] } else { Vec::new() }
    }
}

/// Returns a background routine that runs at 08:50.
fn routine(id: &str, charter: Charter, description: &str) -> Planned {
    let id = ItemId::parse(id).expect("a name");
    let cron = Cron::parse("50 8 * * *").expect("a time");
    let routine = Routine::new(id.clone(), Rhythm::new(cron), Prompt::new("look around"));
    let routine = Routine { charter, description: description.to_owned(), ..routine };
    Planned { what: What::Routine(routine), file: format!("routines/{id}.md") }
}

/// I3b: The descriptions of other jobs in the preamble do not leak through an isolated run, even if
/// its file lets it compose addresses of a site.
#[test]
fn words_of_other_jobs_do_not_leave_with_an_isolated_run() {
    let fetched = |private: u64| -> Vec<String> {
        let mut house = House::new(Box::new(Carrier), world(1, private));
        let listed = ToolRule::Only(vec!["WebFetch(domain:declared.example)".to_owned()]);
        let alone = Charter::Alone(Terms { tools: listed, ..Terms::default() });
        let other = routine("talk", Charter::Fork(Terms::default()), &world(1, private).private);
        house.plans([routine("look", alone, "look around"), other]);
        house.runs_now(Source::Routine("look".to_owned()));
        house.seen.ran.iter().map(|ran| ran.call.input.0.clone()).collect()
    };
    let one = fetched(1);
    assert_eq!(one.len(), 1, "the address was not opened");
    assert_eq!(one, fetched(2));
}

/// I4: In every entry of every scenario the label follows from the parent entries.
#[test]
fn what_was_read_is_never_forgotten() {
    for seed in 0..300 {
        lived(seed, 3, 4).labels_hold();
    }
}

/// A model that delegates reading the mail and then a fetch of the address that the user wrote.
struct Sender;

impl Mind for Sender {
    fn seed(&self) -> u64 {
        1
    }

    fn calls(&self, moment: &Moment<'_>) -> Vec<(String, String)> {
        let call = |name: &str, input: &str| vec![(name.to_owned(), input.to_owned())];
        match (moment.source, moment.step) {
            (Source::Agent(_), 0) => call("Bash", r#"{"command":"ollim-bot mail unread"}"#),
            (Source::Agent(_), 1) => call("WebFetch", r#"{"url":"https://typed.example/page"}"#),
            (Source::Agent(_), 2) => call("WebFetch", r#"{"url":"https://evil.example/page"}"#),
            (Source::Main, 0) => call("Task", r#"{"subagent_type":"reader","prompt":"look"}"#),
            _ => Vec::new(),
        }
    }
}

/// I12: A subagent with outside text may fetch the address that the user wrote, like its caller,
/// but no composed address.
#[test]
fn an_agent_with_outside_words_fetches_only_what_was_typed() {
    let mut house = House::new(Box::new(Sender), world(1, 1));
    house.human("see https://typed.example/page");
    let fetched: Vec<&str> = house
        .seen
        .ran
        .iter()
        .filter(|ran| ran.call.name == "WebFetch")
        .map(|ran| ran.call.input.0.as_str())
        .collect();
    assert_eq!(fetched, [r#"{"url":"https://typed.example/page"}"#], "{:?}", house.seen.tried);
    assert!(
        house.seen.tried.iter().any(|call| call.input.0.contains("evil.example")),
        "{:?}",
        house.seen.tried
    );
}
