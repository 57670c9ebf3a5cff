//! Pings and reminders with their outcomes, and the ping budget.

mod statistics;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use domain::assistant::{Answer, ButtonPress, Request as Ask};
use domain::card::{Card, CardState as Stands};
use domain::embed::ButtonAction;
use domain::ping_budget::PingBudget;
use domain::record::SurfaceName;
use domain::sent_messages::SentId;
use engine::ports::{PingOutcome, PingRecord, ReadError};
use jiff::{Timestamp, ToSpan, Zoned};
use serde::{Deserialize, Serialize};

use super::App;
use super::api::{MAX_BODY_BYTES, read_body, unexpected_answer};
use super::api_error::ApiError;
use super::attention::{AttentionDto, fetch_attention};
use super::days_query::{DaysQuery, parse_days};
use super::dto::CommandResponse;
use super::sessions::format_time;
use statistics::{CellDto, OutcomeDto, grid, outcomes};

/// Default number of days.
const DEFAULT_DAYS: u16 = 7;
/// Maximum number of days.
const MAX_DAYS: u16 = 90;
/// Maximum number of pings, and of reminders.
const MAX_PINGS: u32 = 500;

pub(super) async fn show(
    State(app): State<App>,
    span: Result<Query<DaysQuery>, QueryRejection>,
) -> Result<Json<PingsDto>, ApiError> {
    let days = parse_days(span, DEFAULT_DAYS, MAX_DAYS)?;
    let now = app.ports().clock.now();
    // Whole days, including today.
    let since = now.start_of_day().and_then(|day| day.checked_sub((i64::from(days) - 1).days()));
    let since = since.map_or(Timestamp::MIN, |since| since.timestamp());
    let history = &app.ports().history;
    let pings = history.pings(since, MAX_PINGS).await.map_err(unreadable_error)?;
    let cards = history.cards(MAX_PINGS).await.map_err(unreadable_error)?;
    let attention = fetch_attention(&app).await?;
    let rang = cards.iter().filter(|card| card.rang_at >= since);
    let mut all: Vec<PingEvent> =
        pings.iter().map(PingEvent::from).chain(rang.map(|card| PingEvent::from_card(card, &now))).collect();
    all.sort_by_key(|event| std::cmp::Reverse(event.at));
    Ok(Json(PingsDto {
        now: format_time(now.timestamp(), now.time_zone()),
        from: format_time(since, now.time_zone()),
        days,
        budget: BudgetDto::from(&attention.pings),
        attention: AttentionDto::new(&attention, &now),
        grid: grid(&all, now.time_zone()),
        outcomes: outcomes(&all),
        pings: all.iter().map(|event| PingDto::new(event, &now)).collect(),
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DislikeRequest {
    ping: u64,
}

/// Records that the user found a ping not useful.
pub(super) async fn dislike(
    State(app): State<App>,
    request: Request,
) -> Result<Json<CommandResponse>, ApiError> {
    let DislikeRequest { ping } = read_body(&app, request, MAX_BODY_BYTES).await?;
    let press = ButtonPress { surface: SurfaceName::Page, on: SentId(ping), action: ButtonAction::Dislike };
    let answer = app.ports().assistant.ask(Ask::Press(press)).await;
    let Answer::Done = answer else { return Err(unexpected_answer(answer)) };
    Ok(Json(CommandResponse { ok: true, text: None, turn: None }))
}

fn unreadable_error(unreadable: ReadError) -> ApiError {
    ApiError::internal(unreadable.0)
}

/// A ping or reminder.
struct PingEvent {
    at: Timestamp,
    lane: &'static str,
    job: String,
    name: Option<String>,
    words: String,
    outcome: &'static str,
    reacted: Option<Timestamp>,
    charge: Option<(f64, f64)>,
    why: String,
}

impl From<&PingRecord> for PingEvent {
    fn from(ping: &PingRecord) -> Self {
        let (outcome, charge, reacted, shown) = match &ping.outcome {
            PingOutcome::Shown(entry, charge, None) => ("open", *charge, None, Some(entry)),
            PingOutcome::Shown(entry, charge, reacted) => ("answered", *charge, *reacted, Some(entry)),
            PingOutcome::PutAway(entry) => ("put away", None, None, Some(entry)),
            PingOutcome::Deferred => ("held", None, None, None),
            PingOutcome::Refused => ("refused", None, None, None),
        };
        let critical = charge.is_some_and(|charge| charge.before <= charge.after);
        Self {
            at: ping.at,
            lane: if critical { "critical" } else { "my idea" },
            job: ping.source.to_string(),
            name: ping.name.clone(),
            words: ping.text.clone(),
            outcome,
            reacted,
            charge: charge.map(|charge| (charge.before, charge.after)),
            why: shown.map_or_else(|| ping.source.to_string(), |entry| format!("ping:{}", entry.0)),
        }
    }
}

impl PingEvent {
    fn from_card(card: &Card, now: &Zoned) -> Self {
        let (outcome, reacted) = match &card.state {
            Stands::Open => ("open", None),
            Stands::Done(at) => ("done", Some(*at)),
            Stands::Moved(..) | Stands::Planned(_) => ("moved", None),
            Stands::Dropped => ("dropped", None),
        };
        let job = format!("reminder:{}", card.id);
        Self {
            at: card.rang_at,
            lane: "you asked",
            name: None,
            words: card.task.clone(),
            outcome,
            reacted: reacted.filter(|at| *at <= now.timestamp()),
            charge: None,
            why: job.clone(),
            job,
        }
    }

    /// Returns the minutes until the user reacted.
    fn minutes(&self) -> Option<u64> {
        let minutes = self.reacted?.duration_since(self.at).as_mins();
        u64::try_from(minutes).ok()
    }
}

#[derive(Serialize)]
pub(super) struct PingsDto {
    now: String,
    from: String,
    days: u16,
    budget: BudgetDto,
    attention: AttentionDto,
    /// Minutes until a reaction, by part of the day and day of the week.
    grid: Vec<CellDto>,
    outcomes: Vec<OutcomeDto>,
    /// Newest first.
    pings: Vec<PingDto>,
}

/// The ping budget.
#[derive(Serialize)]
struct BudgetDto {
    capacity: u32,
    available: f64,
    refill_minutes: u32,
    used_today: u32,
    critical_today: u32,
    words: String,
}

impl From<&PingBudget> for BudgetDto {
    fn from(budget: &PingBudget) -> Self {
        Self {
            capacity: budget.capacity,
            available: budget.available,
            refill_minutes: budget.refill_minutes,
            used_today: budget.used.count,
            critical_today: budget.critical.count,
            words: budget.full_summary(),
        }
    }
}

/// One ping or reminder.
#[derive(Serialize)]
struct PingDto {
    at: String,
    /// `you asked`, `my idea` or `critical`.
    lane: &'static str,
    job: String,
    name: Option<String>,
    words: String,
    /// `open`, `answered`, `put away`, `held`, `refused`, `done`, `moved` or `dropped`.
    outcome: &'static str,
    minutes: Option<u64>,
    /// Pings left before and after.
    left: Option<(f64, f64)>,
    /// Argument for `/why`.
    why: String,
}

impl PingDto {
    fn new(event: &PingEvent, now: &Zoned) -> Self {
        Self {
            at: format_time(event.at, now.time_zone()),
            lane: event.lane,
            job: event.job.clone(),
            name: event.name.clone(),
            words: event.words.clone(),
            outcome: event.outcome,
            minutes: event.minutes(),
            left: event.charge,
            why: event.why.clone(),
        }
    }
}
