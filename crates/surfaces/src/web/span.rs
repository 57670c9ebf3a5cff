//! How many days back somebody wants to look, as an address says it.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use serde::Deserialize;

use super::refusal::Refusal;

/// How far back is wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Span {
    days: Option<u16>,
}

/// The days in `span`: `usual`, if none are named, and never more than `most`.
pub(super) fn days(span: Result<Query<Span>, QueryRejection>, usual: u16, most: u16) -> Result<u16, Refusal> {
    let days = span.ok().map(|Query(span)| span.days.unwrap_or(usual));
    days.filter(|days| (1..=most).contains(days)).ok_or_else(|| {
        Refusal::malformed(format!("ask with `?days=NUMBER`, from 1 to {most}, or without it."))
    })
}
