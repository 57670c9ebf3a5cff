//! The path of entries that a model reads, from the last standing summary to the newest entry.
//!
//! Entries never change and a parent's id is always smaller than its children's, so a cached path
//! stays valid and a binary search finds where another path joins it. Summaries that were undone
//! are skipped.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::conversation::{EntryId, PathEntry, Said};

use super::Database;

type Step = (EntryId, Arc<Said>);

/// The last path that was read, so that the next turn reads only new entries.
#[derive(Debug, Default)]
pub struct PathCache(Vec<Step>);

impl Database {
    /// The entries on the path to `head`, oldest first, from the last standing summary on.
    pub fn path(&self, head: EntryId, cache: &mut PathCache) -> rusqlite::Result<Vec<PathEntry>> {
        let (fresh, joined) = self.walk(Some(head), cache)?;
        cache.0.truncate(joined);
        cache.0.extend(fresh.into_iter().rev());
        while let Some(summary) = cache.begins_with_a_recalled_summary() {
            let (older, _) = self.walk(self.entry(summary)?.parent, cache)?;
            if older.is_empty() {
                break;
            }
            cache.0.splice(0..0, older.into_iter().rev());
        }
        Ok(cache.read())
    }

    /// The steps from `next` back to a standing summary, the root or a cached step, and the number
    /// of cached steps that lead there.
    fn walk(&self, mut next: Option<EntryId>, cache: &PathCache) -> rusqlite::Result<(Vec<Step>, usize)> {
        let mut steps = Vec::new();
        let mut recalled = cache.recalled();
        while let Some(id) = next {
            if let Ok(index) = cache.0.binary_search_by_key(&id, |(id, _)| *id) {
                return Ok((steps, index + 1));
            }
            let entry = self.entry(id)?;
            next = match entry.said {
                Said::Summary(_) if !recalled.contains(&id) => None,
                Said::Summary(_) | Said::Human(_) | Said::Assistant(..) | Said::Tools(_) => entry.parent,
                Said::Recalled(summary) => {
                    recalled.insert(summary);
                    entry.parent
                }
            };
            steps.push((id, Arc::new(entry.said)));
        }
        Ok((steps, 0))
    }
}

impl PathCache {
    fn recalled(&self) -> BTreeSet<EntryId> {
        let recalled = self.0.iter().filter_map(|(_, said)| match **said {
            Said::Recalled(summary) => Some(summary),
            Said::Human(_) | Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) => None,
        });
        recalled.collect()
    }

    fn begins_with_a_recalled_summary(&self) -> Option<EntryId> {
        let (id, said) = self.0.first()?;
        let recalled = matches!(**said, Said::Summary(_)) && self.recalled().contains(id);
        recalled.then_some(*id)
    }

    /// The cached path from the last standing summary on, without undone summaries.
    fn read(&self) -> Vec<PathEntry> {
        let recalled = self.recalled();
        let stands = |(id, said): &Step| matches!(**said, Said::Summary(_)) && !recalled.contains(id);
        let start = self.0.iter().rposition(stands).unwrap_or(0);
        let is_read = |step: &&Step| match *step.1 {
            Said::Human(_) | Said::Assistant(..) | Said::Tools(_) => true,
            Said::Summary(_) => stands(step),
            Said::Recalled(_) => false,
        };
        let entry = |(id, said): &Step| PathEntry { id: *id, said: Arc::clone(said) };
        self.0[start..].iter().filter(is_read).map(entry).collect()
    }
}
