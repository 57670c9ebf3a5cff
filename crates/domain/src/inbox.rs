//! The inbox: what the human told us to keep, in their own words, until it is dealt with.

use std::sync::Arc;

use jiff::Timestamp;

/// The number of a kept thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeptId(pub u64);

/// One thing in the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its number.
    pub id: KeptId,
    /// When it was told.
    pub at: Timestamp,
    /// What was told.
    pub text: String,
}

/// What is in the inbox, and the number of the next thing. A number is never given twice.
#[derive(Clone, Debug)]
pub struct Inbox {
    /// What is in it, oldest first, shared with every copy of it.
    pub kept: Arc<Vec<Kept>>,
    /// The number of the next thing.
    pub next: KeptId,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { kept: Arc::default(), next: KeptId(1) }
    }
}

/// The most things that are read out at once; older ones are counted.
const READ_OUT: usize = 20;
/// The longest thing that is read out whole, in characters.
const READ_WHOLE: usize = 200;

/// Reads the inbox out, oldest first.
pub fn read_out(kept: &[Kept]) -> String {
    if kept.is_empty() {
        return "the inbox is empty.".to_owned();
    }
    let hidden = kept.len().saturating_sub(READ_OUT);
    let mut lines: Vec<String> =
        kept[hidden..].iter().map(|kept| format!("{}. {}", kept.id.0, shortened(&kept.text))).collect();
    if hidden > 0 {
        lines.insert(0, format!("({hidden} older ones are not shown)"));
    }
    lines.join("\n")
}

fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(READ_WHOLE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
