//! Cost report as JSON for the page and the command line.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use domain::cost::{BudgetLimit, CostReport, Forecast, Micros, Total};
use serde::Serialize;

use super::App;
use super::api_error::ApiError;
use super::days_query::{DaysQuery, parse_days};

/// Default number of days in the lists.
pub const DEFAULT_DAYS: u16 = 30;
/// Maximum number of days.
pub const MAX_DAYS: u16 = 3660;

pub(super) async fn show(
    State(app): State<App>,
    span: Result<Query<DaysQuery>, QueryRejection>,
) -> Result<Json<CostDto>, ApiError> {
    let days = parse_days(span, DEFAULT_DAYS, MAX_DAYS)?;
    let report =
        app.ports().health_source.cost(days).await.map_err(|unreadable| ApiError::internal(unreadable.0))?;
    Ok(Json(CostDto::from(&report)))
}

/// The cost report.
#[derive(Serialize)]
pub struct CostDto {
    date: String,
    days: u16,
    #[serde(flatten)]
    spans: PeriodsDto,
    by_source: Vec<RowDto>,
    by_model: Vec<RowDto>,
    by_day: Vec<RowDto>,
    /// By day and source, in the order of the days.
    by_day_and_source: Vec<DayDto>,
    unattended: UnattendedDto,
    /// Null before a whole day has passed.
    forecast: Option<ForecastDto>,
}

/// Expected cost, and its basis.
#[derive(Serialize)]
struct ForecastDto {
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
struct PeriodsDto {
    today: TotalDto,
    week: TotalDto,
    month: TotalDto,
}

/// Totals of calls. Calls without a known price add no dollars and are counted separately.
#[derive(Serialize)]
struct TotalDto {
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
struct RowDto {
    name: String,
    /// Number of runs with these calls, or of answers in a conversation. Only for sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<u64>,
    #[serde(flatten)]
    total: TotalDto,
}

/// Cost of one source on one day.
#[derive(Serialize)]
struct DayDto {
    day: String,
    #[serde(flatten)]
    row: RowDto,
}

/// Usage of unattended work today, and its limits; null means no limit.
#[derive(Serialize)]
struct UnattendedDto {
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

impl From<&CostReport> for CostDto {
    fn from(report: &CostReport) -> Self {
        let row = |(name, total): (String, &Total)| RowDto { name, runs: None, total: total.into() };
        let source = |(name, total): (&String, &Total)| RowDto {
            runs: Some(report.breakdown.runs_of(name)),
            ..row((name.clone(), total))
        };
        let named = |(name, total)| row((String::clone(name), total));
        let lists = &report.breakdown;
        Self {
            date: report.date.to_string(),
            days: report.days,
            spans: PeriodsDto {
                today: (&report.today).into(),
                week: (&report.week).into(),
                month: (&report.month).into(),
            },
            by_source: lists.sources.iter().map(source).collect(),
            by_model: lists.models.iter().map(named).collect(),
            by_day: lists.days.iter().map(|(day, total)| row((day.to_string(), total))).collect(),
            by_day_and_source: lists
                .days_by_source
                .iter()
                .map(|((day, name), total)| DayDto { day: day.to_string(), row: row((name.clone(), total)) })
                .collect(),
            unattended: unattended(report),
            forecast: report.forecast.as_ref().map(ForecastDto::from),
        }
    }
}

impl From<&Forecast> for ForecastDto {
    fn from(seen: &Forecast) -> Self {
        Self {
            dollars_today: seen.today.money.as_dollars(),
            dollars_this_month: seen.month.money.as_dollars(),
            dollars_a_day: seen.per_day.money.as_dollars(),
            tokens_today: seen.today.tokens,
            tokens_this_month: seen.month.tokens,
            unpriced_calls: seen.calls.1,
            planned_runs: seen.runs,
            routines_not_run: seen.unrun,
            days: seen.days,
            words: seen.summary(),
        }
    }
}

impl From<&Total> for TotalDto {
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

fn unattended(report: &CostReport) -> UnattendedDto {
    let BudgetLimit { money, tokens } = report.limit;
    let (money_left, tokens_left) = report.remaining();
    UnattendedDto {
        dollars: report.unattended.cost.as_dollars(),
        tokens: report.unattended.tokens,
        dollars_per_day: money.map(Micros::as_dollars),
        tokens_per_day: tokens,
        dollars_left: money_left.map(Micros::as_dollars),
        tokens_left,
        nearest: report.tightest_limit().map(|bound| bound.to_string()),
        percent: report.tightest_limit().map(|bound| bound.percent()),
        standing: report.limit_notice(),
        raised: report.raised_limit().map(|limit| limit.to_string()),
    }
}
