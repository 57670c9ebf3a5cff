//! Mutation of inputs: changed, moved, repeated and removed bytes, and combinations of two inputs.

use domain::rng::Rng;

use crate::MAX_INPUT_BYTES;

/// Fragments that often break parsers: delimiters, boundary values and unusual characters.
const FRAGMENTS: [&str; 28] = [
    "\r\n",
    "\n\n",
    "---\n",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "😀",
    "é",
    "ß",
    "İ",
    "{}",
    "[",
    "\"",
    "\\",
    "\\u0000",
    "null",
    "-1",
    "99999999999999999999",
    "1e999",
    "0000-00-00",
    "9999-12-31T23:59:60Z",
    "*/0",
    "data: ",
    "=?utf-8?b?",
    "{999999999}",
    "&a *a",
    ";BYDAY=",
    " every 0 days",
];

/// Returns a mutation of one of the `known` inputs.
pub fn mutate(known: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = if known.is_empty() { Vec::new() } else { known[random_below(rng, known.len())].clone() };
    for _ in 0..=random_below(rng, 6) {
        mutate_once(&mut bytes, known, rng);
        bytes.truncate(MAX_INPUT_BYTES);
    }
    bytes
}

fn mutate_once(bytes: &mut Vec<u8>, known: &[Vec<u8>], rng: &mut Rng) {
    let at = random_below(rng, bytes.len() + 1);
    let end = (at + random_below(rng, 16)).min(bytes.len());
    match random_below(rng, 10) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 => bytes.insert(at, random_byte(rng)),
        3 | 4 if at < bytes.len() => bytes[at] = random_byte(rng),
        5 if at < bytes.len() => bytes[at] ^= 1 << random_below(rng, 8),
        6 => {
            let part = bytes[at..end].to_vec();
            let to = random_below(rng, bytes.len() + 1);
            drop(bytes.splice(to..to, part));
        }
        7 if !known.is_empty() => {
            let other = &known[random_below(rng, known.len())];
            let from = random_below(rng, other.len() + 1);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        _ => drop(bytes.splice(at..at, FRAGMENTS[random_below(rng, FRAGMENTS.len())].bytes())),
    }
}

fn random_byte(rng: &mut Rng) -> u8 {
    (rng.next_u64() >> 56) as u8
}

fn random_below(rng: &mut Rng, limit: usize) -> usize {
    usize::try_from((rng.next_u64() >> 16) % limit.max(1) as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutations_are_reproducible_and_distinct() {
        let known = [b"0 9 * * 1-5".to_vec(), b"every monday".to_vec()];
        let made = |seed| -> Vec<Vec<u8>> {
            let mut rng = Rng::new(seed);
            (0..200).map(|_| mutate(&known, &mut rng)).collect()
        };
        assert_eq!(made(1), made(1));
        let distinct: std::collections::BTreeSet<_> = made(1).into_iter().collect();
        assert!(distinct.len() > 150, "{}", distinct.len());
        assert!(distinct.iter().all(|bytes| bytes.len() <= MAX_INPUT_BYTES));
    }

    #[test]
    fn empty_corpus_still_gives_inputs() {
        let mut rng = Rng::new(2);
        assert!((0..50).any(|_| !mutate(&[], &mut rng).is_empty()));
    }
}
