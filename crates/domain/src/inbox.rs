//! The inbox: the user's notes in their own words, until they are dealt with.

use std::sync::Arc;

use jiff::Timestamp;

/// The number of an inbox item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InboxItemId(pub u64);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxItem {
    pub id: InboxItemId,
    pub at: Timestamp,
    pub text: String,
}

/// The items and the number of the next one. Numbers are never reused.
#[derive(Clone, Debug)]
pub struct Inbox {
    /// The items, oldest first; shared between copies.
    pub items: Arc<Vec<InboxItem>>,
    pub next_id: InboxItemId,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { items: Arc::default(), next_id: InboxItemId(1) }
    }
}

/// The most items in a list; older ones are counted.
const MAX_LISTED: usize = 20;
/// The most characters of an item in a list.
const MAX_ITEM_CHARS: usize = 200;

/// Returns the inbox as a list, oldest first.
pub fn list_text(kept: &[InboxItem]) -> String {
    if kept.is_empty() {
        return "the inbox is empty.".to_owned();
    }
    let hidden = kept.len().saturating_sub(MAX_LISTED);
    let mut lines: Vec<String> =
        kept[hidden..].iter().map(|kept| format!("{}. {}", kept.id.0, shorten(&kept.text))).collect();
    if hidden > 0 {
        lines.insert(0, format!("({hidden} older ones are not shown)"));
    }
    lines.join("\n")
}

fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_ITEM_CHARS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
