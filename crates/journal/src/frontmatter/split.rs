//! Splits a file into frontmatter and body.

use super::BadText;

/// The parts of a file, without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split<'a> {
    /// Up to the end of the first `---` line.
    pub opening: &'a str,
    /// The YAML, in whole lines.
    pub yaml: &'a str,
    pub closing: &'a str,
    pub body: &'a str,
}

/// Number of lines before the YAML: the `---`.
pub(crate) const LINES_BEFORE_YAML: usize = 1;

/// Splits a file at its first line and the next line that is exactly `---`.
pub fn split(text: &str) -> Result<Split<'_>, BadText> {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let first = line_len(&text[mark..]);
    if !is_fence(&text[mark..mark + first]) {
        let reason = "there is no frontmatter; the first line must be `---`, then the settings, then `---`";
        return Err(BadText { line: Some(1), ..BadText::whole(reason) });
    }
    let start = mark + first;
    let mut at = start;
    while at < text.len() {
        let end = at + line_len(&text[at..]);
        if is_fence(&text[at..end]) {
            let opening = &text[..start];
            let yaml = &text[start..at];
            return Ok(Split { opening, yaml, closing: &text[at..end], body: &text[end..] });
        }
        at = end;
    }
    Err(BadText::whole("the frontmatter has no end; put a line `---` between the settings and the words"))
}

fn is_fence(line: &str) -> bool {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line) == "---"
}

fn line_len(text: &str) -> usize {
    text.find('\n').map_or(text.len(), |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, yaml: &str, body: &str) {
        let split = split(text).unwrap();
        assert_eq!((split.yaml, split.body), (yaml, body), "{text:?}");
        assert_eq!([split.opening, split.yaml, split.closing, split.body].concat(), text);
    }

    /// DD-20, DD-21: only a line that is exactly `---` ends the frontmatter.
    #[test]
    fn only_a_whole_line_of_three_dashes_ends_the_frontmatter() {
        check("---\na: b\n---\nwords\n", "a: b\n", "words\n");
        check("---\na: \"x --- y\"\n---\nwords\n---\nmore", "a: \"x --- y\"\n", "words\n---\nmore");
        check("---\na: b\n ---\n--- \n----\n---\n", "a: b\n ---\n--- \n----\n", "");
        check("---\n---", "", "");
        check("\u{feff}---\r\na: b\r\n---\r\nwords\r\n", "a: b\r\n", "words\r\n");
    }

    /// DD-27: the error for a file without frontmatter says what is missing.
    #[test]
    fn a_file_without_frontmatter_says_what_is_missing() {
        for text in ["", "words", " ---\na: b\n---\n", "\n---\na: b\n---\n", "----\n---\n"] {
            assert!(split(text).unwrap_err().to_string().contains("first line"), "{text:?}");
        }
        assert!(split("---\na: b\n").unwrap_err().to_string().contains("no end"));
    }
}
