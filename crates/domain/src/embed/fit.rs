//! Cuts text to a budget of characters.
//!
//! Lengths are in UTF-16 units, like on the strictest surface, and no character is split.

/// The rest of a budget that several texts share.
pub struct CharBudget(usize);

impl CharBudget {
    /// Creates a budget of `units`.
    pub fn new(units: usize) -> Self {
        Self(units)
    }

    /// Takes as much of `text` as fits into `max` and into the rest.
    pub fn take(&mut self, text: &str, max: usize) -> String {
        let fits = truncate(text, max.min(self.0));
        self.0 -= units(fits);
        fits.to_owned()
    }
}

/// Returns the beginning of `text` with at most `max` units.
pub fn truncate(text: &str, max: usize) -> &str {
    let mut length = 0;
    for (at, c) in text.char_indices() {
        length += c.len_utf16();
        if length > max {
            return &text[..at];
        }
    }
    text
}

/// Returns `text` without emoji and the white space after each of them.
pub fn without_emoji(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut skipping = false;
    for c in text.chars() {
        skipping = is_emoji(c) || (skipping && c.is_whitespace());
        if !skipping {
            kept.push(c);
        }
    }
    kept.trim().to_owned()
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{1F300}'..='\u{1FAFF}' | '\u{2600}'..='\u{27BF}' | '\u{23E9}'..='\u{23FA}' | '\u{FE0F}' | '\u{200D}')
}

fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}
