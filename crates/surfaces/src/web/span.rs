//! The query parameter `days` of several endpoints.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use serde::Deserialize;

use super::refusal::Refusal;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Span {
    days: Option<u16>,
}

/// Returns the number of days in `query`, `default` if not given, and at most `max`.
pub(super) fn days(span: Result<Query<Span>, QueryRejection>, usual: u16, most: u16) -> Result<u16, Refusal> {
    let days = span.ok().map(|Query(span)| span.days.unwrap_or(usual));
    days.filter(|days| (1..=most).contains(days)).ok_or_else(|| {
        Refusal::malformed(format!("ask with `?days=NUMBER`, from 1 to {most}, or without it."))
    })
}
