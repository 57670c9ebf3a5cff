//! Cost report as JSON for the page and the command line.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use domain::cost::{Forecast, Limit, Micros, Report, Total};
use serde::Serialize;

use super::App;
use super::refusal::Refusal;
use super::span::{Span, days};

/// Default number of days in the lists.
pub const DAYS: u16 = 30;
/// Maximum number of days.
pub const MOST_DAYS: u16 = 3660;

pub(super) async fn show(
    State(app): State<App>,
    span: Result<Query<Span>, QueryRejection>,
) -> Result<Json<CostWire>, Refusal> {
    let days = days(span, DAYS, MOST_DAYS)?;
    let report = app.ports().vitals.cost(days).await.map_err(|unreadable| Refusal::broken(unreadable.0))?;
    Ok(Json(CostWire::from(&report)))
}

/// The cost report.
#[derive(Serialize)]
pub struct CostWire {
    date: String,
    days: u16,
    #[serde(flatten)]
    spans: SpansWire,
    by_source: Vec<RowWire>,
    by_model: Vec<RowWire>,
    by_day: Vec<RowWire>,
    /// By day and source, in the order of the days.
    by_day_and_source: Vec<DayWire>,
    unattended: UnattendedWire,
    /// Null before a whole day has passed.
    forecast: Option<ForecastWire>,
}

/// Expected cost, and its basis.
#[derive(Serialize)]
struct ForecastWire {
    dollars_today: f64,
    dollars_this_month: f64,
    dollars_a_day: f64,
    tokens_today: u64,
    tokens_this_month: u64,
    /// Number of calls in the basis that have no price and add no dollars.
    unpriced_calls: u64,
    planned_runs: u64,
    /// Planned routines that did not run in the basis and are not included.
    routines_not_run: u64,
    days: u16,
    words: String,
}

/// Totals of fixed periods.
#[derive(Serialize)]
struct SpansWire {
    today: TotalWire,
    week: TotalWire,
    month: TotalWire,
}

/// Totals of calls. Calls without a known price add no dollars and are counted separately.
#[derive(Serialize)]
struct TotalWire {
    calls: u64,
    unpriced_calls: u64,
    input: u64,
    cache_read: u64,
    cache_write: u64,
    output: u64,
    cached_percent: Option<u64>,
    dollars: f64,
}

#[derive(Serialize)]
struct RowWire {
    name: String,
    /// Number of runs with these calls, or of answers in a conversation. Only for sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<u64>,
    #[serde(flatten)]
    total: TotalWire,
}

/// Cost of one source on one day.
#[derive(Serialize)]
struct DayWire {
    day: String,
    #[serde(flatten)]
    row: RowWire,
}

/// Usage of unattended work today, and its limits; null means no limit.
#[derive(Serialize)]
struct UnattendedWire {
    dollars: f64,
    tokens: u64,
    dollars_per_day: Option<f64>,
    tokens_per_day: Option<u64>,
    dollars_left: Option<f64>,
    tokens_left: Option<u64>,
    /// Usage of the limit that is reached first, such as `$0.82 of $1.00`.
    nearest: Option<String>,
    percent: Option<u64>,
    /// Notice about the limit; null while enough is left.
    standing: Option<String>,
    /// Suggested higher limit, such as `$2.00 5M`; null while enough is left.
    raised: Option<String>,
}

impl From<&Report> for CostWire {
    fn from(report: &Report) -> Self {
        let row = |(name, total): (String, &Total)| RowWire { name, runs: None, total: total.into() };
        let source = |(name, total): (&String, &Total)| RowWire {
            runs: Some(report.lists.runs_of(name)),
            ..row((name.clone(), total))
        };
        let named = |(name, total)| row((String::clone(name), total));
        let lists = &report.lists;
        Self {
            date: report.date.to_string(),
            days: report.days,
            spans: SpansWire {
                today: (&report.today).into(),
                week: (&report.week).into(),
                month: (&report.month).into(),
            },
            by_source: lists.sources.iter().map(source).collect(),
            by_model: lists.models.iter().map(named).collect(),
            by_day: lists.days.iter().map(|(day, total)| row((day.to_string(), total))).collect(),
            by_day_and_source: lists
                .days_of
                .iter()
                .map(|((day, name), total)| DayWire { day: day.to_string(), row: row((name.clone(), total)) })
                .collect(),
            unattended: unattended(report),
            forecast: report.forecast.as_ref().map(ForecastWire::from),
        }
    }
}

impl From<&Forecast> for ForecastWire {
    fn from(seen: &Forecast) -> Self {
        Self {
            dollars_today: seen.today.money.as_dollars(),
            dollars_this_month: seen.month.money.as_dollars(),
            dollars_a_day: seen.a_day.money.as_dollars(),
            tokens_today: seen.today.tokens,
            tokens_this_month: seen.month.tokens,
            unpriced_calls: seen.calls.1,
            planned_runs: seen.runs,
            routines_not_run: seen.unrun,
            days: seen.days,
            words: seen.tell(),
        }
    }
}

impl From<&Total> for TotalWire {
    fn from(total: &Total) -> Self {
        Self {
            calls: total.calls,
            unpriced_calls: total.unpriced,
            input: total.usage.input,
            cache_read: total.usage.cache_read,
            cache_write: total.usage.cache_write,
            output: total.usage.output,
            cached_percent: total.cached_percent(),
            dollars: total.cost.as_dollars(),
        }
    }
}

fn unattended(report: &Report) -> UnattendedWire {
    let Limit { money, tokens } = report.limit;
    let (money_left, tokens_left) = report.left();
    UnattendedWire {
        dollars: report.unattended.cost.as_dollars(),
        tokens: report.unattended.tokens,
        dollars_per_day: money.map(Micros::as_dollars),
        tokens_per_day: tokens,
        dollars_left: money_left.map(Micros::as_dollars),
        tokens_left,
        nearest: report.nearest().map(|bound| bound.to_string()),
        percent: report.nearest().map(|bound| bound.percent()),
        standing: report.standing(),
        raised: report.raised().map(|limit| limit.to_string()),
    }
}
