//! The time window of schedule queries.

use domain::schedule::Moment;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};
use serde::Deserialize;

use crate::web::api_error::ApiError;

const MAX_LENGTH: SignedDuration = SignedDuration::from_hours(32 * 24);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::web) struct WindowQuery {
    from: Option<String>,
    to: Option<String>,
}

/// Half-open time window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::web) struct Window {
    pub(in crate::web) from: Timestamp,
    pub(in crate::web) to: Timestamp,
}

impl Window {
    /// Parses a query. Defaults to the current day, or one day from `from`.
    pub(in crate::web) fn parse(wanted: Option<WindowQuery>, now: &Zoned) -> Result<Self, ApiError> {
        let wanted = wanted.ok_or_else(malformed_window)?;
        let zone = now.time_zone();
        let at =
            |text: &str| Moment::parse(text, zone).map_err(|_| malformed_window()).map(|moment| moment.at);
        let from = match &wanted.from {
            Some(text) => at(text)?,
            None => now.start_of_day().map_err(|_| malformed_window())?.timestamp(),
        };
        let to = match &wanted.to {
            Some(text) => at(text)?,
            None => {
                from.to_zoned(zone.clone()).checked_add(1.day()).map_err(|_| malformed_window())?.timestamp()
            }
        };
        let long = to.duration_since(from);
        (long.is_positive() && long <= MAX_LENGTH).then_some(Self { from, to }).ok_or_else(malformed_window)
    }

    /// Returns true if `time` is in the window.
    pub(in crate::web) fn contains(&self, time: Timestamp) -> bool {
        (self.from..self.to).contains(&time)
    }
}

fn malformed_window() -> ApiError {
    ApiError::malformed(
        "ask with `?from=2026-11-16&to=2026-11-17`, or with times like `2026-11-16T08:00:00%2B01:00`, at most 32 days \
         apart, or without them for today.",
    )
}
