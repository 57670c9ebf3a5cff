//! Statistics about how late planned occurrences started.

use axum::Json;
use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::App;
use super::api_error::ApiError;

/// Number of newest occurrences considered.
const MAX_OCCURRENCES: u32 = 2_000;

/// Upper bound of each bin in seconds, and its label; the last has no bound.
const BINS: [(i64, &str); 8] = [
    (1, "under 1 s"),
    (3, "1–3 s"),
    (10, "3–10 s"),
    (60, "10–60 s"),
    (300, "1–5 min"),
    (1_800, "5–30 min"),
    (10_800, "30 min–3 h"),
    (i64::MAX, "over 3 h"),
];

pub(super) async fn show(State(app): State<App>) -> Result<Json<LatenessDto>, ApiError> {
    let begun = app.ports().history.start_times(MAX_OCCURRENCES).await;
    Ok(Json(LatenessDto::new(&begun.map_err(|unreadable| ApiError::internal(unreadable.0))?)))
}

/// Lateness of occurrences.
#[derive(Debug, Serialize)]
pub(super) struct LatenessDto {
    count: usize,
    /// Median and 99th percentile in seconds.
    half: Option<f64>,
    most: Option<f64>,
    bins: Vec<BinDto>,
}

/// Number of occurrences in one bin.
#[derive(Debug, Serialize)]
struct BinDto {
    late: &'static str,
    count: usize,
}

impl LatenessDto {
    fn new(begun: &[(Timestamp, Timestamp)]) -> Self {
        let late =
            |(due, began): &(Timestamp, Timestamp)| began.duration_since(*due).max(SignedDuration::ZERO);
        let mut lags: Vec<SignedDuration> = begun.iter().map(late).collect();
        lags.sort_unstable();
        let from = |at: usize| if at == 0 { i64::MIN } else { BINS[at - 1].0 };
        let count =
            |at: usize, to: i64| lags.iter().filter(|lag| (from(at)..to).contains(&lag.as_secs())).count();
        let bins = BINS.iter().enumerate();
        let bins = bins.map(|(at, (to, late))| BinDto { late, count: count(at, *to) }).collect();
        let within = |percent: usize| {
            let at = (lags.len() * percent).div_ceil(100).checked_sub(1)?;
            lags.get(at).map(SignedDuration::as_secs_f64)
        };
        Self { count: lags.len(), half: within(50), most: within(99), bins }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lags_are_counted_in_growing_bins() {
        let due = Timestamp::from_second(1_800_000_000).unwrap();
        let begun: Vec<_> = [0, 0, 2, 59, 60, 100_000]
            .iter()
            .map(|seconds| (due, due + SignedDuration::from_secs(*seconds)))
            .chain([(due, due - SignedDuration::from_secs(1))])
            .collect();
        let told = LatenessDto::new(&begun);
        let counts: Vec<usize> = told.bins.iter().map(|bin| bin.count).collect();
        assert_eq!(counts, [3, 1, 0, 1, 1, 0, 0, 1]);
        assert_eq!((told.count, told.half, told.most), (7, Some(2.0), Some(100_000.0)));
        assert_eq!(LatenessDto::new(&[]).half, None);
    }
}
