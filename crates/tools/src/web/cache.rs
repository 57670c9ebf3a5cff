//! A cache of recently fetched pages.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The lifetime and the maximum number of cached pages.
const LIFETIME: Duration = Duration::from_secs(15 * 60);
const MAX_PAGES: usize = 64;

/// Pages by URL, the oldest first.
#[derive(Default)]
pub struct PageCache(Mutex<VecDeque<(Instant, String, String)>>);

impl PageCache {
    /// Returns the page at `url` if it is cached and fresh.
    pub fn get(&self, url: &str) -> Option<String> {
        let mut pages = self.pages();
        pages.retain(|(at, ..)| at.elapsed() < LIFETIME);
        pages.iter().find(|(_, known, _)| known == url).map(|(_, _, page)| page.clone())
    }

    pub fn insert(&self, url: &str, page: &str) {
        let mut pages = self.pages();
        pages.retain(|(_, known, _)| known != url);
        pages.push_back((Instant::now(), url.to_owned(), page.to_owned()));
        let over = pages.len().saturating_sub(MAX_PAGES);
        pages.drain(..over);
    }

    fn pages(&self) -> MutexGuard<'_, VecDeque<(Instant, String, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pages_expire_and_the_oldest_are_evicted() {
        let cache = PageCache::default();
        cache.insert("a", "one");
        cache.insert("a", "two");
        assert_eq!(cache.get("a").as_deref(), Some("two"));
        tokio::time::advance(LIFETIME).await;
        assert_eq!(cache.get("a"), None);
        (0..=MAX_PAGES).for_each(|n| cache.insert(&n.to_string(), "page"));
        assert_eq!((cache.get("0"), cache.get("1").as_deref()), (None, Some("page")));
    }
}
