//! Benchmarks of the pure decisions of the domain crate.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be built stops the benchmark")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use divan::{Bencher, black_box};
use domain::approval::{ApprovalId, Consent, Scope, StandingApproval};
use domain::assistant::{Assistant, Event, FileScan, Request, State, UserMessage};
use domain::compaction::ContextWindow;
use domain::conversation::{Conversation, EntryId, Json};
use domain::intent;
use domain::permission::{Authority, Mode, decide};
use domain::phrase::{self, Habits};
use domain::record::SurfaceName;
use domain::rng::Rng;
use domain::schedule::{
    Cron, ItemId, JobFileChange, JobSpec, JobTarget, PlannedJob, Prompt, Recurrence, Routine, RunOptions,
    ToolRule,
};
use domain::tool::{ToolCall, ToolClass, ToolSpec};
use jiff::{Timestamp, Zoned};

fn main() {
    divan::main();
}

#[divan::bench]
fn offline_brain_reads(bencher: Bencher) {
    let (now, habits) = evening();
    bencher.bench_local(|| {
        intent::parse(black_box("what should i cook for six people tonight?"), &now, &habits)
    });
}

/// Phrases of different kinds: short, long, with a named zone, with a year to look up, and without
/// a time.
#[divan::bench(args = [
    "tea in 4 min",
    "remind me to water the plants every 2 weeks on tuesday at 19:00 until the end of next month",
    "call the office at 9:00 buenos aires time on friday",
    "pay the tax on 29 feb at 10:30, leave 25 min before",
    "a long sentence about nothing much, in which there is no time at all, but many words to look at",
])]
fn phrase_is_read(bencher: Bencher, text: &str) {
    let (now, habits) = evening();
    bencher.bench_local(|| phrase::parse(black_box(text), &now, &habits));
}

#[divan::bench(args = ["0 9 * * 1-5", "*/30 * * * *", "0 9 1 * *", "0 0 29 2 *"])]
fn cron_is_read_and_reckoned(bencher: Bencher, cron: &str) {
    let now: Zoned = "2026-11-15T08:00[Europe/Berlin]".parse().unwrap();
    let after = now.timestamp();
    let zone = now.time_zone();
    bencher.bench_local(|| Cron::parse(black_box(cron)).unwrap().next(after, zone));
}

#[divan::bench]
fn message_is_decided_upon(bencher: Bencher) {
    let now: Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
    let words = || (awake(), Request::Say(UserMessage::from_text(SurfaceName::Page, "good morning")));
    bencher.with_inputs(words).bench_local_values(|(mut assistant, request)| {
        let decided = assistant.handle(request, &now);
        (assistant, decided)
    });
}

/// Decides on one call of a run with a long tool list and a hundred standing approvals.
#[divan::bench]
fn call_is_decided_upon(bencher: Bencher) {
    let call =
        |input: String| ToolCall { id: "c".to_owned(), name: "WebFetch".to_owned(), input: Json(input) };
    let standing = |number: u64| {
        let scope = Scope::of(&call(format!("{{\"url\":\"https://h{number}.example/a\"}}")));
        StandingApproval {
            id: ApprovalId(number),
            tool: "WebFetch".to_owned(),
            scope,
            expires_at: Timestamp::MAX,
        }
    };
    let consent = Consent { standing: (0..100).map(standing).collect(), grants: Vec::new() };
    let lines = (0..20).map(|number| format!("WebFetch(domain:d{number}.example)"));
    let tools = ToolRule::Only(lines.chain(["WebFetch".to_owned()]).collect());
    let authority = Authority { tools, mode: Mode::Ask, ..Authority::MAIN };
    let names =
        ["Read", "Write", "Edit", "Glob", "Grep", "Bash", "WebSearch", "Task", "schedule", "WebFetch"];
    let specs = names.map(|name| ToolSpec {
        name,
        description: Cow::Borrowed(""),
        schema: "{}",
        class: ToolClass::Fetches,
    });
    let wanted =
        call("{\"url\":\"https://other.example/a/page?with=words\",\"prompt\":\"what is new?\"}".to_owned());
    bencher.bench_local(|| {
        let decided = decide(black_box(&wanted), &specs, &authority, &consent);
        assert!(decided.is_none());
        decided
    });
}

/// One of 100,000 plans is due. The assistant before the decision is returned too, so that the copy
/// is measured.
#[divan::bench]
fn one_time_of_100_000_plans_comes(bencher: Bencher) {
    let now: Zoned = "2026-11-15T08:00[Europe/Berlin]".parse().unwrap();
    let mut assistant = awake();
    let plans =
        (0..100_000).map(|number| routine(number, "0 0 1 1 *")).chain([routine(100_000, "5 8 * * *")]);
    assistant.on_event(Event::FilesChanged(plans.collect(), FileScan::First), &now);
    let then = now.checked_add(jiff::SignedDuration::from_mins(5)).unwrap();
    bencher.with_inputs(|| (assistant.clone(), assistant.clone())).bench_local_values(
        |(before, mut assistant)| {
            let effects = assistant.on_event(Event::Woke, &then);
            assert!(effects.len() > 1);
            (before, assistant, effects)
        },
    );
}

/// A thousand plans are due at the same time and are decided in one step.
#[divan::bench(sample_count = 20)]
fn a_thousand_times_come_at_once(bencher: Bencher) {
    let now: Zoned = "2026-11-15T08:00[Europe/Berlin]".parse().unwrap();
    let mut assistant = awake();
    let plans = (0..1_000).map(|number| routine(number, "5 8 * * *")).collect();
    assistant.on_event(Event::FilesChanged(plans, FileScan::First), &now);
    let then = now.checked_add(jiff::SignedDuration::from_mins(5)).unwrap();
    bencher.with_inputs(|| assistant.clone()).bench_local_values(|mut assistant| {
        let effects = assistant.on_event(Event::Woke, &then);
        assert!(effects.len() > 1_000);
        (assistant, effects)
    });
}

fn routine(number: u32, cron: &str) -> JobFileChange {
    let id = ItemId::parse(&format!("r{number}")).unwrap();
    let mut routine =
        Routine::new(id, Recurrence::new(Cron::parse(cron).unwrap()), Prompt::new("look at the mail"));
    routine.target = JobTarget::Isolated(RunOptions::default());
    let file = format!("routines/r{number}.md");
    JobFileChange::Planned(Arc::new(PlannedJob { spec: JobSpec::Routine(routine), file }))
}

fn evening() -> (Zoned, Habits) {
    ("2026-11-15T14:33[Europe/Berlin]".parse().unwrap(), Habits::default())
}

fn awake() -> Assistant {
    let memory = State::new(Conversation::new(BTreeMap::new(), EntryId(1)));
    Assistant::new(memory, Arc::new([]), ContextWindow::DEFAULT, Rng::new(7))
}
