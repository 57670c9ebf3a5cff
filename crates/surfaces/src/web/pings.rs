//! Pings and reminders with their outcomes, and the ping budget.

mod figures;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use domain::assistant::{Answer, Press, Request as Ask};
use domain::card::{Card, State as Stands};
use domain::embed::Action;
use domain::ping_budget::PingBudget;
use domain::record::SurfaceName;
use domain::sent::SentId;
use engine::ports::{Fate, Pinged, Unreadable};
use jiff::{Timestamp, ToSpan, Zoned};
use serde::{Deserialize, Serialize};

use super::App;
use super::api::{BODY_BYTES, read, unexpected};
use super::attention::{AttentionWire, attention};
use super::refusal::Refusal;
use super::sessions::moment;
use super::span::{Span, days};
use super::wire::Obeyed;
use figures::{CellWire, OutcomeWire, grid, outcomes};

/// Default number of days.
const DAYS: u16 = 7;
/// Maximum number of days.
const MOST_DAYS: u16 = 90;
/// Maximum number of pings, and of reminders.
const MOST: u32 = 500;

pub(super) async fn show(
    State(app): State<App>,
    span: Result<Query<Span>, QueryRejection>,
) -> Result<Json<PingsWire>, Refusal> {
    let days = days(span, DAYS, MOST_DAYS)?;
    let now = app.ports().clock.now();
    // Whole days, including today.
    let since = now.start_of_day().and_then(|day| day.checked_sub((i64::from(days) - 1).days()));
    let since = since.map_or(Timestamp::MIN, |since| since.timestamp());
    let history = &app.ports().history;
    let pings = history.pings(since, MOST).await.map_err(broken)?;
    let cards = history.cards(MOST).await.map_err(broken)?;
    let attention = attention(&app).await?;
    let rang = cards.iter().filter(|card| card.rang >= since);
    let mut all: Vec<Event> =
        pings.iter().map(Event::from).chain(rang.map(|card| Event::of(card, &now))).collect();
    all.sort_by_key(|event| std::cmp::Reverse(event.at));
    Ok(Json(PingsWire {
        now: moment(now.timestamp(), now.time_zone()),
        from: moment(since, now.time_zone()),
        days,
        budget: BudgetWire::from(&attention.pings),
        attention: AttentionWire::new(&attention, &now),
        grid: grid(&all, now.time_zone()),
        outcomes: outcomes(&all),
        pings: all.iter().map(|event| PingWire::new(event, &now)).collect(),
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    ping: u64,
}

/// Records that the user found a ping not useful.
pub(super) async fn dislike(State(app): State<App>, request: Request) -> Result<Json<Obeyed>, Refusal> {
    let Which { ping } = read(&app, request, BODY_BYTES).await?;
    let press = Press { surface: SurfaceName::Page, on: SentId(ping), action: Action::Dislike };
    let answer = app.ports().desk.ask(Ask::Press(press)).await;
    let Answer::Noted = answer else { return Err(unexpected(answer)) };
    Ok(Json(Obeyed { ok: true, text: None, turn: None }))
}

fn broken(unreadable: Unreadable) -> Refusal {
    Refusal::broken(unreadable.0)
}

/// A ping or reminder.
struct Event {
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

impl From<&Pinged> for Event {
    fn from(ping: &Pinged) -> Self {
        let (outcome, charge, reacted, shown) = match &ping.fate {
            Fate::Shown(entry, charge, None) => ("open", *charge, None, Some(entry)),
            Fate::Shown(entry, charge, reacted) => ("answered", *charge, *reacted, Some(entry)),
            Fate::PutAway(entry) => ("put away", None, None, Some(entry)),
            Fate::Held => ("held", None, None, None),
            Fate::Refused => ("refused", None, None, None),
        };
        let critical = charge.is_some_and(|charge| charge.before <= charge.after);
        Self {
            at: ping.at,
            lane: if critical { "critical" } else { "my idea" },
            job: ping.source.to_string(),
            name: ping.name.clone(),
            words: ping.words.clone(),
            outcome,
            reacted,
            charge: charge.map(|charge| (charge.before, charge.after)),
            why: shown.map_or_else(|| ping.source.to_string(), |entry| format!("ping:{}", entry.0)),
        }
    }
}

impl Event {
    fn of(card: &Card, now: &Zoned) -> Self {
        let (outcome, reacted) = match &card.state {
            Stands::Open => ("open", None),
            Stands::Done(at) => ("done", Some(*at)),
            Stands::Moved(..) | Stands::Planned(_) => ("moved", None),
            Stands::Dropped => ("dropped", None),
        };
        let job = format!("reminder:{}", card.id);
        Self {
            at: card.rang,
            lane: "you asked",
            name: None,
            words: card.words.clone(),
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
pub(super) struct PingsWire {
    now: String,
    from: String,
    days: u16,
    budget: BudgetWire,
    attention: AttentionWire,
    /// Minutes until a reaction, by part of the day and day of the week.
    grid: Vec<CellWire>,
    outcomes: Vec<OutcomeWire>,
    /// Newest first.
    pings: Vec<PingWire>,
}

/// The ping budget.
#[derive(Serialize)]
struct BudgetWire {
    capacity: u32,
    available: f64,
    refill_minutes: u32,
    used_today: u32,
    critical_today: u32,
    words: String,
}

impl From<&PingBudget> for BudgetWire {
    fn from(budget: &PingBudget) -> Self {
        Self {
            capacity: budget.capacity,
            available: budget.available,
            refill_minutes: budget.refill_minutes,
            used_today: budget.used.count,
            critical_today: budget.critical.count,
            words: budget.tell_all(),
        }
    }
}

/// One ping or reminder.
#[derive(Serialize)]
struct PingWire {
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

impl PingWire {
    fn new(event: &Event, now: &Zoned) -> Self {
        Self {
            at: moment(event.at, now.time_zone()),
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
