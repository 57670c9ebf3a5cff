//! Fitting text into a given room.
//!
//! Lengths are counted in UTF-16 units, as the strictest surface may count them, and no character is cut in
//! half.

/// What is left of a room that several texts share.
pub struct Room(usize);

impl Room {
    /// A room of `units`.
    pub fn of(units: usize) -> Self {
        Self(units)
    }

    /// As much of `text` as fits into `most` and into what is left.
    pub fn take(&mut self, text: &str, most: usize) -> String {
        let fits = cut(text, most.min(self.0));
        self.0 -= units(fits);
        fits.to_owned()
    }
}

/// The beginning of `text` that has at most `most` units.
pub fn cut(text: &str, most: usize) -> &str {
    let mut length = 0;
    for (at, c) in text.char_indices() {
        length += c.len_utf16();
        if length > most {
            return &text[..at];
        }
    }
    text
}

/// `text` without pictures, each with the white space after it.
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
