//! Tests of splitting text into messages.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn split_and_check(text: &str) -> Vec<String> {
    let parts = split(text);
    assert_eq!(join(&parts), text, "nothing is lost and nothing is doubled");
    for (index, part) in parts.iter().enumerate() {
        assert!(units(part) <= MAX_UNITS, "part {index} has {} units", units(part));
        if index > 0 {
            assert!(units(part) >= 40, "part {index} has only {} units", units(part));
        }
    }
    if !text.contains(FENCE) {
        assert_eq!(parts.concat(), text);
    }
    parts
}

/// Returns the lengths of the parts of `text`.
fn lengths(text: &str) -> Vec<usize> {
    split_and_check(text).iter().map(|part| units(part)).collect()
}

/// ST-14: a text that fits is one message; empty text gives none.
#[test]
fn text_that_fits_is_not_split() {
    assert_eq!(split(""), [""; 0]);
    assert_eq!(lengths("hello"), [5]);
    assert_eq!(lengths(&"a".repeat(2000)), [2000]);
    assert_eq!(lengths(&"😀".repeat(1000)), [2000]);
}

/// ST-13: splits between paragraphs, otherwise lines, otherwise words, if such a place is near the
/// end; otherwise anywhere.
#[test]
fn a_long_text_is_split_at_the_best_place() {
    let with = |at: usize, mark: &str| format!("{}{mark}{}", "a".repeat(at), "b".repeat(1500));
    assert_eq!(lengths(&with(1800, "\n\n"))[0], 1802);
    assert_eq!(lengths(&format!("{}\n\nc\nd e{}", "a".repeat(1800), "b".repeat(900)))[0], 1802);
    assert_eq!(lengths(&with(1900, "\n"))[0], 1901);
    assert_eq!(lengths(&format!("{}\nd e{}", "a".repeat(1800), "b".repeat(900)))[0], 1801);
    assert_eq!(lengths(&with(1900, " "))[0], 1901);
    let far = lengths(&with(1500, "\n\n"))[0];
    assert_eq!(far, PART_UNITS - units(CLOSING), "a break that is far from the end is none");
    assert_eq!(lengths(&"a".repeat(4000)).len(), 3);
}

/// The last part always has a minimum length.
#[test]
fn the_last_part_is_never_just_a_word() {
    for length in 2001..2100 {
        split_and_check(&"a".repeat(length));
        split_and_check(&format!("{} {}", "a".repeat(length - 10), "b".repeat(9)));
    }
}

/// ST-19: lengths are counted as Discord counts, and grapheme clusters are not split.
#[test]
fn grapheme_clusters_are_not_split() {
    let family = "👨‍👩‍👧‍👦";
    for (one, many) in [("😀", 1500), (family, 300), ("🇪🇸", 800), ("e\u{301}", 1500), ("👍🏽", 800)]
    {
        for before in 0..12 {
            let text = "x".repeat(before) + &one.repeat(many);
            for part in split_and_check(&text) {
                assert_eq!(part.trim_start_matches('x').replace(one, ""), "", "{one} after {before}");
            }
        }
    }
}

/// D6: every part of a code block is a complete code block.
#[test]
fn a_code_block_is_closed_and_reopened() {
    let code = "let x = 1;\n".repeat(500);
    let parts = split_and_check(&format!("look:\n```rust\n{code}```\ndone"));
    assert!(parts.len() > 2);
    for (index, part) in parts.iter().enumerate() {
        assert_eq!(part.matches(FENCE).count(), 2, "part {index}");
        assert!(part.contains("```rust\nlet x"), "part {index}");
    }
    assert!(parts[0].ends_with("let x = 1;\n\n```"));
    assert!(parts.last().unwrap().ends_with("let x = 1;\n```\ndone"));
}

#[test]
fn a_part_that_ends_in_its_own_fence_is_joined_correctly() {
    for length in 1900..2000 {
        let text = "a".repeat(length) + "\n```\nb\n```";
        split_and_check(&(text.clone() + &"c".repeat(300)));
        split_and_check(&(text.clone() + "```rust\n" + &"c".repeat(300)));
        split_and_check(&(text + "\n```" + &"c".repeat(300)));
    }
}

#[test]
fn unusual_texts_are_split_without_loss() {
    for text in ["`", "``", FENCE, "````", " ", "\n", "\u{200b}", "\u{200f}\u{5d0}", "\u{301}", "a\r\n"] {
        for times in [1, 700, 2000, 4001] {
            assert_eq!(join(&split(&text.repeat(times))), text.repeat(times), "{text:?} {times} times");
            assert!(split(&text.repeat(times)).iter().all(|part| units(part) <= MAX_UNITS));
        }
    }
}

/// ST-12: only the last part of a growing answer changes.
#[test]
fn only_the_last_part_of_a_growing_text_changes() {
    let text = "one two\nthree ```rust\nfour five\n\nsix```\n".repeat(200);
    let mut before: Vec<String> = Vec::new();
    for end in (0..text.len()).step_by(37) {
        let parts = split(&text[..end]);
        let closed = before.len().saturating_sub(1);
        assert_eq!(parts[..closed], before[..closed]);
        before = parts;
    }
}

const PIECES: &[&str] =
    &["word ", "\n", "\n\n", "```", "```rust\n", "\n```\n", "`", "``", "😀", "👨‍👩‍👧", "e\u{301}", "\u{200b}"];

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => proptest::sample::select(PIECES).prop_map(ToOwned::to_owned),
        2 => "\\PC{0,40}",
        1 => "[\u{5d0}-\u{5ea}\u{200f} ]{0,60}",
        1 => (1..4001_usize).prop_map(|length| "w".repeat(length)),
        1 => ("[`a\n😀]", 1..700_usize).prop_map(|(one, times)| one.repeat(times)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// ST-14, ST-19, D6: the parts of any text are short enough and contain all of it once.
    #[test]
    fn any_text_is_split_without_loss(pieces in proptest::collection::vec(piece(), 0..12)) {
        let text = pieces.concat();
        let parts = split(&text);
        prop_assert_eq!(join(&parts), text.clone());
        for part in &parts {
            prop_assert!(units(part) <= MAX_UNITS);
        }
        if !text.contains(FENCE) {
            prop_assert_eq!(parts.concat(), text);
        }
    }
}
