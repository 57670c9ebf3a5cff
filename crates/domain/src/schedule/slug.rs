//! File names derived from the text of a job.

/// The maximum length of a slug.
const MAX_LEN: usize = 50;

/// Converts `text` to lower-case ASCII letters and digits, separated by single hyphens. May be
/// empty.
pub fn slug(text: &str) -> String {
    let words = text.to_lowercase();
    let words: Vec<&str> = words
        .split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit())
        .filter(|w| !w.is_empty())
        .collect();
    let mut slug = words.join("-");
    slug.truncate(MAX_LEN);
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DD-29, DD-30: a slug consists of the words of the text and is truncated.
    #[test]
    fn a_slug_consists_of_the_words_of_the_text() {
        let cases = [
            ("Check the mail!", "check-the-mail"),
            ("  --A__b  c9 ", "a-b-c9"),
            ("Überraschung für Ölaf", "berraschung-f-r-laf"),
            ("日本語 🙂", ""),
            ("", ""),
            (
                "aaaaaaaaaa bbbbbbbbb cccccccccc dddddddddd eeeeeee ffff",
                "aaaaaaaaaa-bbbbbbbbb-cccccccccc-dddddddddd-eeeeeee",
            ),
            (
                "aaaaaaaaaa bbbbbbbbb cccccccccc dddddddddd eeeeee ffff",
                "aaaaaaaaaa-bbbbbbbbb-cccccccccc-dddddddddd-eeeeee",
            ),
        ];
        for (words, named) in cases {
            assert_eq!(slug(words), named, "{words:?}");
        }
    }
}
