//! Mutation of inputs: changed, moved, repeated and removed bytes, and combinations of two inputs.

use domain::dice::Dice;

use crate::LONGEST;

/// Fragments that often break parsers: delimiters, boundary values and unusual characters.
const PARTS: [&str; 28] = [
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
pub fn mutated(known: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = if known.is_empty() { Vec::new() } else { known[below(dice, known.len())].clone() };
    for _ in 0..=below(dice, 6) {
        change(&mut bytes, known, dice);
        bytes.truncate(LONGEST);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, known: &[Vec<u8>], dice: &mut Dice) {
    let at = below(dice, bytes.len() + 1);
    let end = (at + below(dice, 16)).min(bytes.len());
    match below(dice, 10) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 => bytes.insert(at, byte(dice)),
        3 | 4 if at < bytes.len() => bytes[at] = byte(dice),
        5 if at < bytes.len() => bytes[at] ^= 1 << below(dice, 8),
        6 => {
            let part = bytes[at..end].to_vec();
            let to = below(dice, bytes.len() + 1);
            drop(bytes.splice(to..to, part));
        }
        7 if !known.is_empty() => {
            let other = &known[below(dice, known.len())];
            let from = below(dice, other.len() + 1);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        _ => drop(bytes.splice(at..at, PARTS[below(dice, PARTS.len())].bytes())),
    }
}

fn byte(dice: &mut Dice) -> u8 {
    (dice.roll() >> 56) as u8
}

fn below(dice: &mut Dice, most: usize) -> usize {
    usize::try_from((dice.roll() >> 16) % most.max(1) as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_and_each_is_another() {
        let known = [b"0 9 * * 1-5".to_vec(), b"every monday".to_vec()];
        let made = |seed| -> Vec<Vec<u8>> {
            let mut dice = Dice::new(seed);
            (0..200).map(|_| mutated(&known, &mut dice)).collect()
        };
        assert_eq!(made(1), made(1));
        let distinct: std::collections::BTreeSet<_> = made(1).into_iter().collect();
        assert!(distinct.len() > 150, "{}", distinct.len());
        assert!(distinct.iter().all(|bytes| bytes.len() <= LONGEST));
    }

    #[test]
    fn something_is_made_of_nothing() {
        let mut dice = Dice::new(2);
        assert!((0..50).any(|_| !mutated(&[], &mut dice).is_empty()));
    }
}
