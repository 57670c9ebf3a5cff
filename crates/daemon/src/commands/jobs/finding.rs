//! Finds a job by id, id prefix, file name or words. Ambiguous references are errors.

use jiff::Zoned;
use jiff::tz::TimeZone;

use super::Row;
use crate::exit::{Ambiguous, Candidate, Failed};

/// The most candidates that are listed.
const TOLD: usize = 10;

/// Finds the one job that `words` can mean; an error if there is none.
pub fn find(
    rows: Vec<Row>,
    words: &str,
    kind: &str,
    verb: &str,
    clock: (&Zoned, &TimeZone),
) -> Result<Row, Failed> {
    let hint = |row: &Row| format!("use an id: ollim-bot {kind} {verb} {}", row.name());
    let found = only(rows, words, (kind, hint), clock)?;
    found.ok_or_else(|| Failed::NotDone(format!("{kind} {words} not found")))
}

/// Finds the one job that `words` can mean, if there is any. Several matches are an error.
pub fn only(
    rows: Vec<Row>,
    words: &str,
    (kind, hint): (&str, impl Fn(&Row) -> String),
    (now, zone): (&Zoned, &TimeZone),
) -> Result<Option<Row>, Failed> {
    let meant = meant(rows, words.trim());
    let count = meant.len();
    let mut meant = meant.into_iter();
    match (meant.next(), count) {
        (found, ..=1) => Ok(found),
        (first, count) => {
            let hint = first.as_ref().map(hint).unwrap_or_default();
            let all = first.into_iter().chain(meant).take(TOLD);
            let candidate = |row: Row| Candidate {
                id: row.name().to_owned(),
                name: row.summary(),
                when: row.when(now.timestamp(), zone),
            };
            let candidates = all.map(candidate).collect();
            let message = format!("{words:?} matches {count} {kind}s");
            Err(Failed::Ambiguous(Ambiguous { message, candidates, hint }))
        }
    }
}

/// Returns all jobs that `words` can mean.
fn meant(rows: Vec<Row>, words: &str) -> Vec<Row> {
    // If two files have the same id, only the first one is used.
    if let Some(place) = rows.iter().position(|row| row.id.as_deref() == Some(words)) {
        return rows.into_iter().skip(place).take(1).collect();
    }
    let lower = words.to_lowercase();
    let by_words = |row: &Row| {
        let said = row.words().to_lowercase();
        lower.split_whitespace().all(|word| said.contains(word))
    };
    let by_id = |row: &Row| row.id.as_deref().is_some_and(|id| id.starts_with(words));
    let by_file = |row: &Row| row.stem() == words || row.file == words;
    let meant = |row: &Row| !words.is_empty() && (by_id(row) || by_file(row) || by_words(row));
    rows.into_iter().filter(meant).collect()
}
