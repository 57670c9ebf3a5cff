//! A cache of recently fetched pages.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The lifetime and the maximum number of cached pages.
const FRESH: Duration = Duration::from_secs(15 * 60);
const PAGES: usize = 64;

/// Pages by URL, the oldest first.
#[derive(Default)]
pub struct Cache(Mutex<VecDeque<(Instant, String, String)>>);

impl Cache {
    /// Returns the page at `url` if it is cached and fresh.
    pub fn get(&self, url: &str) -> Option<String> {
        let mut pages = self.pages();
        pages.retain(|(at, ..)| at.elapsed() < FRESH);
        pages.iter().find(|(_, known, _)| known == url).map(|(_, _, page)| page.clone())
    }

    pub fn keep(&self, url: &str, page: &str) {
        let mut pages = self.pages();
        pages.retain(|(_, known, _)| known != url);
        pages.push_back((Instant::now(), url.to_owned(), page.to_owned()));
        let over = pages.len().saturating_sub(PAGES);
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
    async fn a_page_is_kept_for_a_quarter_of_an_hour_and_only_the_newest_are() {
        let cache = Cache::default();
        cache.keep("a", "one");
        cache.keep("a", "two");
        assert_eq!(cache.get("a").as_deref(), Some("two"));
        tokio::time::advance(FRESH).await;
        assert_eq!(cache.get("a"), None);
        (0..=PAGES).for_each(|n| cache.keep(&n.to_string(), "page"));
        assert_eq!((cache.get("0"), cache.get("1").as_deref()), (None, Some("page")));
    }
}
