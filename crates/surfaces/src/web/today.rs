//! The current day: next item, remaining items, inbox, cards and missed occurrences.

use axum::Json;
use axum::extract::State;
use domain::assistant::{Answer, Flaw, Plans, Question, Request as Ask};
use domain::card::{Card, State as Stands};
use domain::inbox::Kept;
use domain::schedule::{Plan, first_step};
use engine::ports::Unreadable;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};
use serde::Serialize;

use super::App;
use super::api::unexpected;
use super::attention::{AttentionWire, attention};
use super::refusal::Refusal;
use super::schedule::wire::{OccurrenceWire, TimeWire, missed};
use super::schedule::{Past, plans};
use super::sessions::moment;
use super::wire::CardWire;

/// Maximum number of times.
const MOST: usize = 200;
/// Number of newest cards read.
const CARDS: u32 = 50;
/// How long a settled card is returned.
const SETTLED: SignedDuration = SignedDuration::from_hours(12);

pub(super) async fn show(State(app): State<App>) -> Result<Json<TodayWire>, Refusal> {
    let now = app.ports().clock.now();
    let plans = plans(&app).await?;
    let past = Past::newest(&app).await?;
    let answer = app.ports().desk.ask(Ask::Tell(Question::Inbox)).await;
    let Answer::Told(inbox) = answer else { return Err(unexpected(answer)) };
    let history = &app.ports().history;
    let kept = history.inbox().await.map_err(broken)?;
    let cards = history.cards(CARDS).await.map_err(broken)?;
    let due = |(at, plan): (Timestamp, &Plan)| DueWire::new(at, plan, &plans, &now);
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
        kept: kept.iter().map(|kept| KeptWire::new(kept, &plans, &now)).collect(),
        cards: cards
            .iter()
            .filter(|card| is_shown(card, &now))
            .map(|card| CardWire::new(card, &now))
            .collect(),
        attention: AttentionWire::new(&*attention(&app).await?, &now),
        missed: missed(&past, &now),
        broken: plans.broken.values().filter(|broken| broken.flaw != Flaw::Asking).count(),
    }))
}

#[derive(Serialize)]
pub(super) struct TodayWire {
    now: TimeWire,
    /// The next item, today or later.
    next: Option<DueWire>,
    /// Items before midnight, soonest first.
    rest: Vec<DueWire>,
    /// The inbox as text.
    inbox: String,
    /// The inbox items, oldest first.
    kept: Vec<KeptWire>,
    /// Open reminder cards and recently settled ones, newest first.
    cards: Vec<CardWire>,
    /// Quiet hours, focus, and deferred messages.
    attention: AttentionWire,
    /// Recently missed occurrences.
    missed: Vec<OccurrenceWire>,
    /// Number of invalid job files.
    broken: usize,
}

/// Returns true for an open card, and for a while after it rang.
fn is_shown(card: &Card, now: &Zoned) -> bool {
    card.state == Stands::Open || now.timestamp().duration_since(card.rang) <= SETTLED
}

fn broken(unreadable: Unreadable) -> Refusal {
    Refusal::broken(unreadable.0)
}

/// An inbox item.
#[derive(Serialize)]
struct KeptWire {
    id: u64,
    at: String,
    text: String,
    /// What a model had read from outside before it put it there, such as `a page from example.org`.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
}

impl KeptWire {
    fn new(kept: &Kept, plans: &Plans, now: &Zoned) -> Self {
        let origin = plans.origin_of_kept(kept.id).map(str::to_owned);
        Self { id: kept.id.0, at: moment(kept.at, now.time_zone()), text: kept.text.clone(), origin }
    }
}

/// A job with its time.
#[derive(Serialize)]
struct DueWire {
    job: String,
    id: String,
    name: String,
    /// The first step, if the job's text names one.
    first_step: Option<String>,
    /// What a model had read from outside before it planned or changed the job, such as `a page from example.org`.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(flatten)]
    time: TimeWire,
}

impl DueWire {
    fn new(at: Timestamp, plan: &Plan, plans: &Plans, now: &Zoned) -> Self {
        let planned = &plan.planned;
        Self {
            job: planned.source().to_string(),
            id: planned.id().to_string(),
            name: planned.name(),
            first_step: first_step(planned.message().as_str()).map(str::to_owned),
            origin: plans.origin_of(&planned.source()).map(str::to_owned),
            time: TimeWire::new(at, now),
        }
    }
}
