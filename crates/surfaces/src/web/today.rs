//! The current day: next item, remaining items, inbox, cards and missed occurrences.

use axum::Json;
use axum::extract::State;
use domain::assistant::{Answer, FileProblem, Plans, Query, Request as Ask};
use domain::card::{Card, CardState as Stands};
use domain::inbox::InboxItem;
use domain::schedule::{Plan, first_step};
use engine::ports::ReadError;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};
use serde::Serialize;

use super::App;
use super::api::unexpected_answer;
use super::api_error::ApiError;
use super::attention::{AttentionDto, fetch_attention};
use super::dto::CardDto;
use super::schedule::dto::{OccurrenceDto, TimeDto, missed_occurrences};
use super::schedule::{OccurrenceHistory, plans};
use super::sessions::format_time;

/// Maximum number of times.
const MAX_TIMES: usize = 200;
/// Number of newest cards read.
const MAX_CARDS: u32 = 50;
/// How long a settled card is returned.
const SETTLED_PERIOD: SignedDuration = SignedDuration::from_hours(12);

pub(super) async fn show(State(app): State<App>) -> Result<Json<TodayDto>, ApiError> {
    let now = app.ports().clock.now();
    let plans = plans(&app).await?;
    let past = OccurrenceHistory::fetch_newest(&app).await?;
    let answer = app.ports().assistant.ask(Ask::Query(Query::Inbox)).await;
    let Answer::Text(inbox) = answer else { return Err(unexpected_answer(answer)) };
    let history = &app.ports().history;
    let kept = history.inbox().await.map_err(unreadable_error)?;
    let cards = history.cards(MAX_CARDS).await.map_err(unreadable_error)?;
    let due = |(at, plan): (Timestamp, &Plan)| DueDto::new(at, plan, &plans, &now);
    let midnight = now.start_of_day().and_then(|day| day.checked_add(1.day()));
    let midnight = midnight.map_or(Timestamp::MAX, |midnight| midnight.timestamp());
    let mut today: Vec<(Timestamp, &Plan)> = Vec::new();
    for (_, plan) in plans.agenda.upcoming().take_while(|(at, _)| *at < midnight) {
        let ahead = plans.agenda.future_times(plan, (now.timestamp(), midnight), now.time_zone());
        today.extend(ahead.take(MAX_TIMES).map(|at| (at, plan)));
    }
    today.sort_by(|one, other| one.0.cmp(&other.0).then_with(|| one.1.job.file.cmp(&other.1.job.file)));
    today.truncate(MAX_TIMES);
    Ok(Json(TodayDto {
        now: TimeDto::new(now.timestamp(), &now),
        next: plans.agenda.upcoming().next().map(due),
        rest: today.into_iter().map(due).collect(),
        inbox,
        kept: kept.iter().map(|kept| InboxItemDto::new(kept, &plans, &now)).collect(),
        cards: cards
            .iter()
            .filter(|card| is_shown(card, &now))
            .map(|card| CardDto::new(card, &now))
            .collect(),
        attention: AttentionDto::new(&*fetch_attention(&app).await?, &now),
        missed: missed_occurrences(&past, &now),
        broken: plans.broken.values().filter(|broken| broken.problem != FileProblem::NotAccepted).count(),
    }))
}

#[derive(Serialize)]
pub(super) struct TodayDto {
    now: TimeDto,
    /// The next item, today or later.
    next: Option<DueDto>,
    /// Items before midnight, soonest first.
    rest: Vec<DueDto>,
    /// The inbox as text.
    inbox: String,
    /// The inbox items, oldest first.
    kept: Vec<InboxItemDto>,
    /// Open reminder cards and recently settled ones, newest first.
    cards: Vec<CardDto>,
    /// Quiet hours, focus, and deferred messages.
    attention: AttentionDto,
    /// Recently missed occurrences.
    missed: Vec<OccurrenceDto>,
    /// Number of invalid job files.
    broken: usize,
}

/// Returns true for an open card, and for a while after it rang.
fn is_shown(card: &Card, now: &Zoned) -> bool {
    card.state == Stands::Open || now.timestamp().duration_since(card.rang_at) <= SETTLED_PERIOD
}

fn unreadable_error(unreadable: ReadError) -> ApiError {
    ApiError::internal(unreadable.0)
}

/// An inbox item.
#[derive(Serialize)]
struct InboxItemDto {
    id: u64,
    at: String,
    text: String,
    /// A description of the outside text that a model had read before it added the item, such as `a
    /// page from example.org`.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
}

impl InboxItemDto {
    fn new(kept: &InboxItem, plans: &Plans, now: &Zoned) -> Self {
        let origin = plans.origin_of_kept(kept.id).map(str::to_owned);
        Self { id: kept.id.0, at: format_time(kept.at, now.time_zone()), text: kept.text.clone(), origin }
    }
}

/// A job with its time.
#[derive(Serialize)]
struct DueDto {
    job: String,
    id: String,
    name: String,
    /// The first step, if the job's text names one.
    first_step: Option<String>,
    /// A description of the outside text that a model had read before it planned or changed the
    /// job, such as `a page from example.org`.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(flatten)]
    time: TimeDto,
}

impl DueDto {
    fn new(at: Timestamp, plan: &Plan, plans: &Plans, now: &Zoned) -> Self {
        let planned = &plan.job;
        Self {
            job: planned.source().to_string(),
            id: planned.id().to_string(),
            name: planned.display_name(),
            first_step: first_step(planned.prompt().as_str()).map(str::to_owned),
            origin: plans.origin_of(&planned.source()).map(str::to_owned),
            time: TimeDto::new(at, now),
        }
    }
}
