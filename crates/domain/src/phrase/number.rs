//! Numbers: digits, number words, and ordinals.

use super::words::{Match, Words};

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const ORDINALS: [&str; 12] = [
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth",
];

/// Larger numbers are clamped to this.
const MAX_NUMBER: i64 = 1_000_000_000;

/// Parses digits without a sign.
pub(super) fn digits(text: &str) -> Option<i64> {
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().unwrap_or(MAX_NUMBER).min(MAX_NUMBER))
}

/// The leading number of `text`, its length in digits, and the rest.
pub(super) fn leading(text: &str) -> Option<(i64, usize, &str)> {
    let many = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((digits(&text[..many])?, many, &text[many..]))
}

/// A whole number in digits or words.
pub(super) fn whole(words: &Words, at: usize) -> Match<i64> {
    let text = words.at(at);
    if let Some(number) = digits(text).or_else(|| position(&SMALL, text)) {
        return Some((number, at + 1));
    }
    let (tens, one) = text.split_once('-').unwrap_or((text, ""));
    let tens = (position(&TENS, tens)? + 2) * 10;
    let unit = |word: &str| position(&SMALL, word).filter(|unit| (1..10).contains(unit));
    match (one, unit(one), unit(words.at(at + 1))) {
        ("", _, Some(unit)) => Some((tens + unit, at + 2)),
        ("", _, None) => Some((tens, at + 1)),
        (_, Some(unit), _) => Some((tens + unit, at + 1)),
        (_, None, _) => None,
    }
}

/// `1st`, `22nd` or `first`.
pub(super) fn ordinal(text: &str) -> Option<i64> {
    if let Some(nth) = position(&ORDINALS, text) {
        return Some(nth + 1);
    }
    let (number, _, end) = leading(text)?;
    ["st", "nd", "rd", "th"].contains(&end).then_some(number)
}

/// A number, multiplied by 1000: `20`, `1.5`, `1,5`, `a`, `a couple of`, `two and a half`.
pub(super) fn thousandths(words: &Words, at: usize) -> Match<i64> {
    if let Some(next) = words.after_sequence(at, &["a", "couple"]) {
        return Some((2000, words.skip(next, &["of"])));
    }
    if words.is_any(at, &["a", "an"]) {
        return Some((1000, at + 1));
    }
    if let Some(number) = decimal(words.at(at)) {
        return Some((number, at + 1));
    }
    let (number, next) = whole(words, at)?;
    match words.after_sequence(next, &["and", "a", "half"]) {
        Some(end) => Some((number * 1000 + 500, end)),
        None => Some((number * 1000, next)),
    }
}

/// `1.5` or `1,25`, multiplied by 1000.
pub(super) fn decimal(text: &str) -> Option<i64> {
    let (before, after) = text.split_once(['.', ','])?;
    if !(1..=3).contains(&after.len()) {
        return None;
    }
    let scale = [100, 10, 1][after.len() - 1];
    Some(digits(before)?.min(MAX_NUMBER / 1000) * 1000 + digits(after)? * scale)
}

fn position(list: &[&str], text: &str) -> Option<i64> {
    list.iter().position(|word| *word == text).and_then(|at| i64::try_from(at).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_parsed_in_digits_and_in_words() {
        let check = |text: &str, number: Option<i64>| {
            assert_eq!(thousandths(&Words::of(text), 0).map(|(number, _)| number), number, "{text}");
        };
        check("20", Some(20_000));
        check("twenty five", Some(25_000));
        check("forty-two", Some(42_000));
        check("forty-x", None);
        check("two and a half", Some(2_500));
        check("1.5", Some(1_500));
        check("1,25", Some(1_250));
        check("a couple of", Some(2_000));
        check("an", Some(1_000));
        check("99999999999999999999999", Some(MAX_NUMBER * 1000));
        check("-4", None);
        check("five-ish", None);
        assert_eq!(ordinal("22nd"), Some(22));
        assert_eq!(ordinal("third"), Some(3));
        assert_eq!(ordinal("3x"), None);
    }
}
