//! Full-text search over all conversations.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use domain::conversation::{EntryId, Said, Text};
use engine::ports::{Found, LookedFor};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::App;
use super::refusal::Refusal;
use super::sessions::moment;

/// Hits per page.
const PAGE: u32 = 30;
/// Maximum length of the query in bytes.
const LONGEST: usize = 400;
/// Characters shown before and after a match.
const AROUND: usize = 90;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    words: String,
    before: Option<u64>,
}

pub(super) async fn show(
    State(app): State<App>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Json<FoundWire>, Refusal> {
    let wanted = wanted.ok().map(|Query(wanted)| wanted);
    let Wanted { words, before } =
        wanted.filter(|wanted| wanted.words.len() <= LONGEST).ok_or_else(|| {
            Refusal::malformed(format!(
                "ask with `?words=WORDS&before=NUMBER`, words of at most {LONGEST} bytes."
            ))
        })?;
    let before = before.filter(|before| i64::try_from(*before).is_ok()).map(EntryId);
    let looked_for = LookedFor { words: words.clone(), before, limit: PAGE + 1, ..LookedFor::default() };
    let found = app.ports().history.search(looked_for).await;
    let mut found = found.map_err(|unreadable| Refusal::broken(unreadable.0))?;
    let more = found.len() > usize::try_from(PAGE).unwrap_or(usize::MAX);
    found.truncate(usize::try_from(PAGE).unwrap_or(usize::MAX));
    let now = app.ports().clock.now();
    Ok(Json(FoundWire {
        hits: found.iter().map(|found| HitWire::new(found, &words, now.time_zone())).collect(),
        more,
    }))
}

/// Hits, newest first.
#[derive(Serialize)]
pub(super) struct FoundWire {
    hits: Vec<HitWire>,
    more: bool,
}

/// One hit.
#[derive(Serialize)]
pub struct HitWire {
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

impl HitWire {
    /// Creates a hit for the query `words`, with its time in `zone`.
    pub fn new(found: &Found, words: &str, zone: &TimeZone) -> Self {
        let entry = &found.entry;
        let spoken = found.spoken.as_ref();
        Self {
            id: entry.id.0,
            at: moment(entry.at, zone),
            by: by(&entry.said),
            turn: spoken.map(|spoken| spoken.turn.0),
            branch: spoken.map(|spoken| spoken.branch.to_string()),
            surface: spoken.map(|spoken| spoken.surface.as_str()),
            text: around(&entry.said.text(), words),
        }
    }
}

/// Returns the author.
pub fn by(said: &Said) -> &'static str {
    match said {
        Said::Human(_) => "human",
        Said::Assistant(..) => "assistant",
        Said::Tools(_) => "tools",
        Said::Summary(_) | Said::Recalled(_) => "summary",
    }
}

/// Returns the part of `text` around the first match.
fn around(text: &str, words: &str) -> String {
    let lower = text.to_lowercase();
    let found = words.to_lowercase().split_whitespace().filter_map(|word| lower.find(word)).min();
    // Lower-casing may change the length of characters, so the position is counted in characters.
    let place = found.map_or(0, |at| lower[..at].chars().count());
    let from = place.saturating_sub(AROUND);
    let all = text.chars().count();
    let part: String = text.chars().skip(from).take(2 * AROUND).collect();
    let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
    let before = if from > 0 { "…" } else { "" };
    let after = if from + 2 * AROUND < all { "…" } else { "" };
    format!("{before}{part}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_is_told_with_the_words_around_it() {
        assert_eq!(around("call the dentist", "dentist"), "call the dentist");
        let long = format!("{}the Dentist{}", "before ".repeat(50), " after".repeat(50));
        let told = around(&long, "dentist");
        assert!(told.starts_with('…') && told.ends_with('…') && told.contains("the Dentist after"), "{told}");
        assert_eq!(around("İİİ straße", "straße"), "İİİ straße");
        assert_eq!(around("", "x"), "");
    }
}
