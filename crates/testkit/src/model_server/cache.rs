//! The prompt cache: which prefix of a prompt was cached, and the resulting charges.
//!
//! A cache mark writes the whole prompt up to it. A later request reads the entry that was written
//! at or shortly before one of its own marks, if every byte up to there is identical. A request
//! with other thinking settings matches only tools and instructions, not messages.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::catalog::ModelSpec;
use super::prompt::prompt_parts;

/// The lifetime of a cached prefix after its last use, by the `ttl` of its mark.
const SHORT_LIFETIME: Duration = Duration::from_secs(5 * 60);
const LONG_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// The number of blocks before a mark that are checked for a cached prefix.
const LOOK_BACK: usize = 20;

/// The charged input tokens of a prompt, by category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// Neither read from the cache nor written to it.
    pub plain: u64,
    /// Written to the cache.
    pub written: u64,
    /// The part of `written` that is cached for an hour.
    pub written_1h: u64,
    /// Read from the cache.
    pub read: u64,
}

/// The cached prefixes.
#[derive(Debug, Default)]
pub struct PromptCache {
    /// The expiry time and the lifetime after each use, by hash.
    entries: HashMap<[u8; 32], (Duration, Duration)>,
    min_tokens: u64,
}

/// The prompt up to and including one block.
struct PromptPrefix {
    hash: [u8; 32],
    tokens: u64,
    lifetime: Option<Duration>,
}

impl PromptCache {
    /// Creates an empty cache that ignores prefixes shorter than `least` tokens.
    pub fn new(least: u64) -> Self {
        Self { entries: HashMap::new(), min_tokens: least }
    }

    /// Charges `request` to `model` at the time `now`, and caches its prefixes.
    pub fn charge(&mut self, request: &Value, model: &ModelSpec, now: Duration) -> Charge {
        self.entries.retain(|_, (forgotten, _)| *forgotten > now);
        let prefixes = prompt_prefixes(request, model);
        let total = prefixes.last().map_or(0, |last| last.tokens);
        let min_tokens = self.min_tokens.max(model.min_cached);
        let marks: Vec<usize> = (0..prefixes.len())
            .filter(|at| prefixes[*at].lifetime.is_some() && prefixes[*at].tokens >= min_tokens)
            .collect();
        let Some(last) = marks.last() else { return Charge { plain: total, ..Charge::default() } };
        let candidates = marks.iter().flat_map(|mark| mark.saturating_sub(LOOK_BACK)..=*mark);
        let found = candidates.filter(|at| self.entries.contains_key(&prefixes[*at].hash)).max();
        for at in marks.iter().copied().chain(found) {
            let prefix = &prefixes[at];
            let kept_life = self.entries.get(&prefix.hash).map(|(_, life)| *life);
            let life = prefix.lifetime.max(kept_life).unwrap_or(SHORT_LIFETIME);
            self.entries.insert(prefix.hash, (now + life, life));
        }
        let read = found.map_or(0, |at| prefixes[at].tokens);
        let cached = prefixes[*last].tokens;
        // Marks of one hour precede those of five minutes, so the last of them ends that part.
        let long = marks.iter().rev().find(|at| prefixes[**at].lifetime == Some(LONG_LIFETIME));
        let long = long.map_or(0, |at| prefixes[*at].tokens);
        Charge {
            plain: total - cached.max(read),
            written: cached.saturating_sub(read),
            written_1h: long.saturating_sub(read),
            read,
        }
    }
}

/// Returns the tokens of the whole prompt of `request`.
pub fn prompt_tokens(request: &Value, model: &ModelSpec) -> u64 {
    prompt_prefixes(request, model).last().map_or(0, |last| last.tokens)
}

fn prompt_prefixes(request: &Value, model: &ModelSpec) -> Vec<PromptPrefix> {
    let mut hash = Sha256::new().chain_update(request["model"].to_string());
    let mut bytes = 0_usize;
    let thinking = format!("{}{}{}", request["thinking"], request["output_config"], request["tool_choice"]);
    let beginnings = prompt_parts(request).into_iter().map(|part| {
        let text = part.block.to_string();
        if !matches!(part.section.as_str(), "tools" | "system") {
            hash.update(&thinking);
        }
        bytes += text.len();
        hash.update(format!("{}\n{}\n", part.section, text.len()));
        hash.update(text);
        let tokens = model.tokens(bytes);
        let long = part.mark.as_ref().is_some_and(|mark| mark["ttl"] == "1h");
        let lifetime = part.mark.map(|_| if long { LONG_LIFETIME } else { SHORT_LIFETIME });
        PromptPrefix { hash: hash.clone().finalize().into(), tokens, lifetime }
    });
    beginnings.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model_server::catalog::GENERIC;

    fn request(texts: &[&str], marks: &[usize]) -> Value {
        let block = |(at, text): (usize, &&str)| {
            if marks.contains(&at) {
                json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}})
            } else {
                json!({"type": "text", "text": text})
            }
        };
        let content: Vec<_> = texts.iter().enumerate().map(block).collect();
        json!({"model": "m", "messages": [{"role": "user", "content": content}]})
    }

    fn charges(requests: &[(Value, u64)]) -> Vec<(u64, u64, u64)> {
        let mut cache = PromptCache::new(0);
        let charge = |(request, now): &(Value, u64)| {
            let charge = cache.charge(request, &GENERIC, Duration::from_secs(*now));
            (charge.plain, charge.written, charge.read)
        };
        requests.iter().map(charge).collect()
    }

    // A block of text around four characters is 29 bytes, so three of them are 8, 15 and 22 tokens.
    #[test]
    fn marked_prefix_is_cached_for_five_minutes_after_its_last_use() {
        let whole = || request(&["aaaa", "bbbb", "cccc"], &[1]);
        let at = |times: &[u64]| charges(&times.iter().map(|now| (whole(), *now)).collect::<Vec<_>>());
        assert_eq!(at(&[0, 0]), [(7, 15, 0), (7, 0, 15)]);
        assert_eq!(at(&[0, 299, 598]), [(7, 15, 0), (7, 0, 15), (7, 0, 15)]);
        assert_eq!(at(&[0, 300]), [(7, 15, 0), (7, 15, 0)]);
    }

    #[test]
    fn one_hour_marks_are_cached_for_an_hour() {
        let mut long = request(&["aaaa", "bbbb"], &[0, 1]);
        long["messages"][0]["content"][0]["cache_control"]["ttl"] = json!("1h");
        let mut cache = PromptCache::new(0);
        let mut charge = |now| cache.charge(&long, &GENERIC, Duration::from_secs(now));
        let expected = Charge { plain: 0, written: 15, written_1h: 8, read: 0 };
        assert_eq!(charge(0), expected);
        assert_eq!(charge(3599), Charge { written: 7, written_1h: 0, read: 8, ..expected });
    }

    #[test]
    fn only_a_shared_prefix_is_read_from_the_cache() {
        let check = |second: Value, expected| {
            assert_eq!(charges(&[(request(&["aaaa", "bbbb"], &[1]), 0), (second, 1)])[1], expected);
        };
        check(request(&["aaaa", "bbbb", "cccc"], &[2]), (0, 7, 15));
        check(request(&["aaaa", "xxxx", "cccc"], &[2]), (0, 22, 0));
        check(request(&["aaaa", "bbbb"], &[]), (15, 0, 0));
        check(request(&["aaaa"], &[0]), (0, 8, 0));
        let mut other = request(&["aaaa", "bbbb"], &[1]);
        other["model"] = json!("other");
        check(other, (0, 15, 0));
    }

    #[test]
    fn other_thinking_settings_match_only_the_instructions() {
        let thinking = |thinking: &str| {
            let mut request = request(&["aaaa"], &[0]);
            request["system"] =
                json!([{"type": "text", "text": "bbbb", "cache_control": {"type": "ephemeral"}}]);
            request["thinking"] = json!({ "type": thinking });
            (request, 0)
        };
        let charged = charges(&[thinking("disabled"), thinking("disabled"), thinking("adaptive")]);
        assert_eq!(charged, [(0, 15, 0), (0, 0, 15), (0, 7, 8)]);
    }

    #[test]
    fn marks_look_back_a_limited_number_of_blocks() {
        let texts = vec!["aaaa"; 30];
        let check = |new: usize, found: bool| {
            let marks = [new];
            let charged = charges(&[(request(&texts[..4], &[3]), 0), (request(&texts, &marks), 1)]);
            assert_eq!(charged[1].2 > 0, found, "{new} blocks later");
        };
        check(23, true);
        check(24, false);
    }
}
