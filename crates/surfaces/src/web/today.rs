//! Today: what comes next, what else comes today, what waits, and what was missed.

use axum::Json;
use axum::extract::State;
use domain::assistant::{Answer, Question, Request as Ask};
use domain::schedule::Plan;
use jiff::{Timestamp, ToSpan, Zoned};
use serde::Serialize;

use super::App;
use super::api::unexpected;
use super::refusal::Refusal;
use super::schedule::wire::{OccurrenceWire, TimeWire, missed};
use super::schedule::{Past, plans};

/// The most times that are told.
const MOST: usize = 200;

pub(super) async fn show(State(app): State<App>) -> Result<Json<TodayWire>, Refusal> {
    let now = app.ports().clock.now();
    let (plans, past) = (plans(&app).await?, Past::newest(&app).await?);
    let inbox = match app.ports().desk.ask(Ask::Tell(Question::Inbox)).await {
        Answer::Told(text) => text,
        answer => return Err(unexpected(answer)),
    };
    let due = |(at, plan): (Timestamp, &Plan)| DueWire::new(at, plan, &now);
    let midnight = now.start_of_day().and_then(|day| day.checked_add(1.day()));
    let midnight = midnight.map_or(Timestamp::MAX, |midnight| midnight.timestamp());
    let mut today: Vec<(Timestamp, &Plan)> = Vec::new();
    for (_, plan) in plans.agenda.soonest().take_while(|(at, _)| *at < midnight) {
        let ahead = plans.agenda.ahead(plan, (now.timestamp(), midnight), now.time_zone());
        today.extend(ahead.take(MOST).map(|at| (at, plan)));
    }
    today.sort_by(|one, other| {
        one.0.cmp(&other.0).then_with(|| one.1.planned.file.cmp(&other.1.planned.file))
    });
    today.truncate(MOST);
    Ok(Json(TodayWire {
        now: TimeWire::new(now.timestamp(), &now),
        next: plans.agenda.soonest().next().map(due),
        rest: today.into_iter().map(due).collect(),
        inbox,
        missed: missed(&past, &now),
        broken: plans.broken.len(),
    }))
}

/// The day.
#[derive(Serialize)]
pub(super) struct TodayWire {
    now: TimeWire,
    /// What comes next, today or later.
    next: Option<DueWire>,
    /// What comes before midnight, soonest first.
    rest: Vec<DueWire>,
    /// What is in the inbox, in words.
    inbox: String,
    /// What was missed in the last days.
    missed: Vec<OccurrenceWire>,
    /// How many job files cannot be read.
    broken: usize,
}

/// A job, and when it comes.
#[derive(Serialize)]
struct DueWire {
    job: String,
    name: String,
    #[serde(flatten)]
    time: TimeWire,
}

impl DueWire {
    fn new(at: Timestamp, plan: &Plan, now: &Zoned) -> Self {
        let planned = &plan.planned;
        Self { job: planned.source().to_string(), name: planned.name(), time: TimeWire::new(at, now) }
    }
}
