//! The query parameter `days` of several endpoints.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use serde::Deserialize;

use super::api_error::ApiError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DaysQuery {
    days: Option<u16>,
}

/// Returns the number of days in `query`, `default` if not given, and at most `max`.
pub(super) fn parse_days(
    query: Result<Query<DaysQuery>, QueryRejection>,
    default: u16,
    max: u16,
) -> Result<u16, ApiError> {
    let days = query.ok().map(|Query(query)| query.days.unwrap_or(default));
    days.filter(|days| (1..=max).contains(days)).ok_or_else(|| {
        ApiError::malformed(format!("ask with `?days=NUMBER`, from 1 to {max}, or without it."))
    })
}
