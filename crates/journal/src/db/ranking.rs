//! Ranks search hits by relevance.
//!
//! BM25 over the hits only. Every hit contains all words, so inverse document frequency is
//! irrelevant and no word is counted over all entries. Older hits score slightly lower.

use jiff::{SignedDuration, Timestamp};

/// Term frequency saturation (k1 of BM25).
const SATURATION: f64 = 1.2;
/// Length normalisation (b of BM25).
const LENGTH_WEIGHT: f64 = 0.75;
/// The share of the score that depends on age.
const AGE_WEIGHT: f64 = 0.4;
/// The age at which half of that share is lost.
const AGE_HALF_LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A search hit to be ranked.
pub struct SearchCandidate {
    pub text: String,
    pub at: Timestamp,
}

/// Scores each of `candidates` for `words`, of which the last may be a prefix. Ages are relative to
/// `now`.
pub fn scores(candidates: &[SearchCandidate], words: &str, now: Timestamp) -> Vec<f64> {
    let wanted = tokens(words);
    let counted: Vec<(Vec<f64>, f64)> =
        candidates.iter().map(|candidate| term_counts(&wanted, &candidate.text)).collect();
    let all: f64 = counted.iter().map(|(_, length)| length).sum();
    let usual = (all / counted.len().max(1) as f64).max(1.0);
    let score = |(candidate, (counts, length)): (&SearchCandidate, &(Vec<f64>, f64))| {
        let room = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length / usual);
        let about: f64 = counts.iter().map(|count| count * (SATURATION + 1.0) / (count + room)).sum();
        about * recency(candidate.at, now)
    };
    candidates.iter().zip(&counted).map(score).collect()
}

/// One for a text of `now`, less for older ones, never zero.
fn recency(at: Timestamp, now: Timestamp) -> f64 {
    let age = now.duration_since(at).as_secs_f64().max(0.0);
    1.0 - AGE_WEIGHT + AGE_WEIGHT * 0.5_f64.powf(age / AGE_HALF_LIFE.as_secs_f64())
}

/// Counts each word in `text`, and the words of `text`. A word found under another spelling counts
/// a little.
fn term_counts(wanted: &[String], text: &str) -> (Vec<f64>, f64) {
    let said = tokens(text);
    let count = |(place, word): (usize, &String)| {
        let last = place + 1 == wanted.len();
        let weight = |said: &String| match said {
            said if said == word => 1.0,
            said if last && said.starts_with(word.as_str()) => 0.5,
            _ => 0.0,
        };
        said.iter().map(weight).sum::<f64>().max(0.25)
    };
    (wanted.iter().enumerate().map(count).collect(), said.len() as f64)
}

fn tokens(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(said: &[(&str, i64)], words: &str) -> Vec<usize> {
        let now = Timestamp::constant(1_794_700_000, 0);
        let candidate = |(text, days): &(&str, i64)| SearchCandidate {
            text: (*text).to_owned(),
            at: now - SignedDuration::from_hours(24 * days),
        };
        let scores = scores(&said.iter().map(candidate).collect::<Vec<_>>(), words, now);
        let mut places: Vec<usize> = (0..said.len()).collect();
        places.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]));
        places
    }

    #[test]
    fn the_most_relevant_text_comes_first() {
        let long = format!("the dentist is one of many things: {}", "and this ".repeat(60));
        assert_eq!(ranked(&[(&long, 0), ("the dentist moved the dentist to friday", 0)], "dentist"), [1, 0]);
        assert_eq!(ranked(&[("dentistry", 0), ("the dentist", 0)], "dentist"), [1, 0], "whole words first");
    }

    #[test]
    fn the_newer_of_similar_texts_comes_first_but_relevance_beats_age() {
        assert_eq!(ranked(&[("call the dentist", 90), ("call the dentist", 1)], "dentist"), [1, 0]);
        let passing = format!("a dentist, {}", "among other things ".repeat(30));
        assert_eq!(ranked(&[(&passing, 0), ("the dentist called the dentist", 300)], "dentist"), [1, 0]);
    }

    #[test]
    fn empty_input_is_ranked_without_an_error() {
        assert_eq!(ranked(&[], "dentist"), [0; 0]);
        assert_eq!(ranked(&[("", 0)], "dentist"), [0]);
    }
}
