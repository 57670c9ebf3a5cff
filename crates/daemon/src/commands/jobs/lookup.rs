//! Finds a job by id, id prefix, file name or words. Ambiguous references are errors.

use jiff::Zoned;
use jiff::tz::TimeZone;

use super::JobRow;
use crate::exit::{Ambiguous, Candidate, CommandError};

/// The most candidates that are listed.
const MAX_CANDIDATES: usize = 10;

/// Finds the one job that `words` can mean; an error if there is none.
pub fn find(
    rows: Vec<JobRow>,
    words: &str,
    kind: &str,
    verb: &str,
    clock: (&Zoned, &TimeZone),
) -> Result<JobRow, CommandError> {
    let hint = |row: &JobRow| format!("use an id: ollim-bot {kind} {verb} {}", row.name());
    let found = find_unique(rows, words, (kind, hint), clock)?;
    found.ok_or_else(|| CommandError::Failed(format!("{kind} {words} not found")))
}

/// Finds the one job that `words` can mean, if there is any. Several matches are an error.
pub fn find_unique(
    rows: Vec<JobRow>,
    words: &str,
    (kind, hint): (&str, impl Fn(&JobRow) -> String),
    (now, zone): (&Zoned, &TimeZone),
) -> Result<Option<JobRow>, CommandError> {
    let meant = matching_rows(rows, words.trim());
    let count = meant.len();
    let mut meant = meant.into_iter();
    match (meant.next(), count) {
        (found, ..=1) => Ok(found),
        (first, count) => {
            let hint = first.as_ref().map(hint).unwrap_or_default();
            let all = first.into_iter().chain(meant).take(MAX_CANDIDATES);
            let candidate = |row: JobRow| Candidate {
                id: row.name().to_owned(),
                name: row.summary(),
                when: row.next_text(now.timestamp(), zone),
            };
            let candidates = all.map(candidate).collect();
            let message = format!("{words:?} matches {count} {kind}s");
            Err(CommandError::Ambiguous(Ambiguous { message, candidates, hint }))
        }
    }
}

/// Returns all jobs that `words` can mean.
fn matching_rows(rows: Vec<JobRow>, words: &str) -> Vec<JobRow> {
    // If two files have the same id, only the first one is used.
    if let Some(place) = rows.iter().position(|row| row.id.as_deref() == Some(words)) {
        return rows.into_iter().skip(place).take(1).collect();
    }
    let lower = words.to_lowercase();
    let by_words = |row: &JobRow| {
        let said = row.search_text().to_lowercase();
        lower.split_whitespace().all(|word| said.contains(word))
    };
    let by_id = |row: &JobRow| row.id.as_deref().is_some_and(|id| id.starts_with(words));
    let by_file = |row: &JobRow| row.file_stem() == words || row.file == words;
    let meant = |row: &JobRow| !words.is_empty() && (by_id(row) || by_file(row) || by_words(row));
    rows.into_iter().filter(meant).collect()
}
