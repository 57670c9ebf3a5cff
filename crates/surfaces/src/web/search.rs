//! Full-text search over all conversations.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use domain::conversation::{EntryContent, EntryId, Text};
use engine::ports::{SearchHit, SearchQuery};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::App;
use super::api_error::ApiError;
use super::sessions::format_time;

/// Hits per page.
const PAGE_SIZE: u32 = 30;
/// Maximum length of the query in bytes.
const MAX_QUERY_BYTES: usize = 400;
/// Characters shown before and after a match.
const EXCERPT_CHARS: usize = 90;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchParams {
    words: String,
    before: Option<u64>,
}

pub(super) async fn show(
    State(app): State<App>,
    wanted: Result<Query<SearchParams>, QueryRejection>,
) -> Result<Json<SearchDto>, ApiError> {
    let wanted = wanted.ok().map(|Query(wanted)| wanted);
    let SearchParams { words, before } =
        wanted.filter(|wanted| wanted.words.len() <= MAX_QUERY_BYTES).ok_or_else(|| {
            ApiError::malformed(format!(
                "ask with `?words=WORDS&before=NUMBER`, words of at most {MAX_QUERY_BYTES} bytes."
            ))
        })?;
    let before = before.filter(|before| i64::try_from(*before).is_ok()).map(EntryId);
    let looked_for =
        SearchQuery { words: words.clone(), before, limit: PAGE_SIZE + 1, ..SearchQuery::default() };
    let found = app.ports().history.search(looked_for).await;
    let mut found = found.map_err(|unreadable| ApiError::internal(unreadable.0))?;
    let more = found.len() > usize::try_from(PAGE_SIZE).unwrap_or(usize::MAX);
    found.truncate(usize::try_from(PAGE_SIZE).unwrap_or(usize::MAX));
    let now = app.ports().clock.now();
    Ok(Json(SearchDto {
        hits: found.iter().map(|found| HitDto::new(found, &words, now.time_zone())).collect(),
        more,
    }))
}

/// Hits, newest first.
#[derive(Serialize)]
pub(super) struct SearchDto {
    hits: Vec<HitDto>,
    more: bool,
}

/// One hit.
#[derive(Serialize)]
pub struct HitDto {
    /// Id of the entry.
    pub id: u64,
    pub at: String,
    /// Author: `human`, `assistant`, `tools` or `summary`.
    pub by: &'static str,
    pub turn: Option<u64>,
    pub branch: Option<String>,
    pub surface: Option<&'static str>,
    /// Excerpt around the match.
    pub text: String,
}

impl HitDto {
    /// Creates a hit for the query `words`, with its time in `zone`.
    pub fn new(found: &SearchHit, words: &str, zone: &TimeZone) -> Self {
        let entry = &found.entry;
        let spoken = found.origin.as_ref();
        Self {
            id: entry.id.0,
            at: format_time(entry.at, zone),
            by: author(&entry.content),
            turn: spoken.map(|spoken| spoken.turn.0),
            branch: spoken.map(|spoken| spoken.branch.to_string()),
            surface: spoken.map(|spoken| spoken.surface.as_str()),
            text: excerpt(&entry.content.text(), words),
        }
    }
}

/// Returns the author.
pub fn author(said: &EntryContent) -> &'static str {
    match said {
        EntryContent::User(_) => "human",
        EntryContent::Assistant(..) => "assistant",
        EntryContent::Tools(_) => "tools",
        EntryContent::Summary(_) | EntryContent::SummaryRecalled(_) => "summary",
    }
}

/// Returns the part of `text` around the first match.
fn excerpt(text: &str, words: &str) -> String {
    let lower = text.to_lowercase();
    let found = words.to_lowercase().split_whitespace().filter_map(|word| lower.find(word)).min();
    // Lower-casing may change the length of characters, so the position is counted in characters.
    let place = found.map_or(0, |at| lower[..at].chars().count());
    let from = place.saturating_sub(EXCERPT_CHARS);
    let all = text.chars().count();
    let part: String = text.chars().skip(from).take(2 * EXCERPT_CHARS).collect();
    let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
    let before = if from > 0 { "…" } else { "" };
    let after = if from + 2 * EXCERPT_CHARS < all { "…" } else { "" };
    format!("{before}{part}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_contains_an_excerpt() {
        assert_eq!(excerpt("call the dentist", "dentist"), "call the dentist");
        let long = format!("{}the Dentist{}", "before ".repeat(50), " after".repeat(50));
        let told = excerpt(&long, "dentist");
        assert!(told.starts_with('…') && told.ends_with('…') && told.contains("the Dentist after"), "{told}");
        assert_eq!(excerpt("İİİ straße", "straße"), "İİİ straße");
        assert_eq!(excerpt("", "x"), "");
    }
}
