//! Detects grapheme clusters, which must not be split.

const JOINER: char = '\u{200d}';

/// Returns true if the text before and after a position is one cluster.
pub fn is_inside_cluster(before: &str, after: &str) -> bool {
    let (Some(last), Some(next)) = (before.chars().next_back(), after.chars().next()) else { return false };
    last == JOINER
        || is_extending(next)
        || (last == '\r' && next == '\n')
        || (is_flag_half(next) && count_flag_halves(before) % 2 == 1)
}

/// Returns true for joiners, combining marks and emoji modifiers, which extend the previous
/// character.
fn is_extending(c: char) -> bool {
    matches!(
        c,
        JOINER
            | '\u{300}'..='\u{36f}'
            | '\u{591}'..='\u{5bd}'
            | '\u{64b}'..='\u{65f}'
            | '\u{93c}'..='\u{94d}'
            | '\u{e31}'
            | '\u{e34}'..='\u{e3a}'
            | '\u{e47}'..='\u{e4e}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{fe20}'..='\u{fe2f}'
            | '\u{1f3fb}'..='\u{1f3ff}'
            | '\u{e0020}'..='\u{e007f}'
    )
}

fn is_flag_half(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

/// Counts the regional indicators before a position: they pair up from the start of the row.
fn count_flag_halves(before: &str) -> usize {
    before.chars().rev().take_while(|c| is_flag_half(*c)).count()
}
