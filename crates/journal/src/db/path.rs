//! The path of entries that a model reads, from the last standing summary to the newest entry.
//!
//! Entries never change and a parent's id is always smaller than its children's, so a cached path
//! stays valid and a binary search finds where another path joins it. Summaries that were undone
//! are skipped.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::conversation::{EntryContent, EntryId, PathEntry};

use super::Database;

type PathStep = (EntryId, Arc<EntryContent>);

/// The last path that was read, so that the next turn reads only new entries.
#[derive(Debug, Default)]
pub struct PathCache(Vec<PathStep>);

impl Database {
    /// The entries on the path to `head`, oldest first, from the last standing summary on.
    pub fn path(&self, head: EntryId, cache: &mut PathCache) -> rusqlite::Result<Vec<PathEntry>> {
        let (fresh, joined) = self.walk(Some(head), cache)?;
        cache.0.truncate(joined);
        cache.0.extend(fresh.into_iter().rev());
        while let Some(summary) = cache.leading_recalled_summary() {
            let (older, _) = self.walk(self.entry(summary)?.parent, cache)?;
            if older.is_empty() {
                break;
            }
            cache.0.splice(0..0, older.into_iter().rev());
        }
        Ok(cache.standing_entries())
    }

    /// The steps from `next` back to a standing summary, the root or a cached step, and the number
    /// of cached steps that lead there.
    fn walk(&self, mut next: Option<EntryId>, cache: &PathCache) -> rusqlite::Result<(Vec<PathStep>, usize)> {
        let mut steps = Vec::new();
        let mut recalled = cache.recalled_summaries();
        while let Some(id) = next {
            if let Ok(index) = cache.0.binary_search_by_key(&id, |(id, _)| *id) {
                return Ok((steps, index + 1));
            }
            let entry = self.entry(id)?;
            next = match entry.content {
                EntryContent::Summary(_) if !recalled.contains(&id) => None,
                EntryContent::Summary(_)
                | EntryContent::User(_)
                | EntryContent::Assistant(..)
                | EntryContent::Tools(_) => entry.parent,
                EntryContent::SummaryRecalled(summary) => {
                    recalled.insert(summary);
                    entry.parent
                }
            };
            steps.push((id, Arc::new(entry.content)));
        }
        Ok((steps, 0))
    }
}

impl PathCache {
    fn recalled_summaries(&self) -> BTreeSet<EntryId> {
        let recalled = self.0.iter().filter_map(|(_, said)| match **said {
            EntryContent::SummaryRecalled(summary) => Some(summary),
            EntryContent::User(_)
            | EntryContent::Assistant(..)
            | EntryContent::Tools(_)
            | EntryContent::Summary(_) => None,
        });
        recalled.collect()
    }

    fn leading_recalled_summary(&self) -> Option<EntryId> {
        let (id, said) = self.0.first()?;
        let recalled = matches!(**said, EntryContent::Summary(_)) && self.recalled_summaries().contains(id);
        recalled.then_some(*id)
    }

    /// The cached path from the last standing summary on, without undone summaries.
    fn standing_entries(&self) -> Vec<PathEntry> {
        let recalled = self.recalled_summaries();
        let stands =
            |(id, said): &PathStep| matches!(**said, EntryContent::Summary(_)) && !recalled.contains(id);
        let start = self.0.iter().rposition(stands).unwrap_or(0);
        let is_read = |step: &&PathStep| match *step.1 {
            EntryContent::User(_) | EntryContent::Assistant(..) | EntryContent::Tools(_) => true,
            EntryContent::Summary(_) => stands(step),
            EntryContent::SummaryRecalled(_) => false,
        };
        let entry = |(id, said): &PathStep| PathEntry { id: *id, content: Arc::clone(said) };
        self.0[start..].iter().filter(is_read).map(entry).collect()
    }
}
