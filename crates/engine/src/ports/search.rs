//! Web search by the vendor of the model, with the same key.
//!
//! A search is a separate call: it sends the query and nothing of the conversation. A search engine
//! that the user has configured does not use this port.

use domain::cost::{BudgetRefusal, ModelCall};
use futures_util::future::BoxFuture;

/// Searches the web on the servers of a vendor.
pub trait VendorSearch: Send + Sync {
    /// The vendor and the model that searches, such as `anthropic:claude-haiku-5-5`.
    fn name(&self) -> String;

    /// Returns the calls of the most expensive search possible. The daily limit is checked against
    /// them.
    fn max_calls(&self) -> Vec<ModelCall>;

    /// Searches for `query`. Dropping the future ends the call.
    fn search<'a>(&'a self, query: &'a str) -> BoxFuture<'a, SearchOutcome>;
}

/// A search that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchOutcome {
    /// The calls to record: those of the model, and one for each search that the vendor charges.
    pub spent: Vec<ModelCall>,
    /// The results.
    pub results: Result<SearchResults, SearchFailure>,
}

/// The results of a search. All texts are untrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchResults {
    /// The pages, best first.
    pub pages: Vec<ResultPage>,
    /// The answer that the searching model gave from these pages; may be empty.
    pub answer: String,
}

/// A page in the results of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultPage {
    /// The title.
    pub title: String,
    /// The address.
    pub url: String,
    /// The text of the page that the answer cites, or the age of the page; often empty.
    pub snippet: String,
}

/// The reason why a search has no results, with the next step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchFailure {
    /// The account, the model or the server has no web search.
    #[error("{vendor} does not allow web searches ({reason}). {fix} {ALTERNATIVE_HINT}")]
    NotAllowed {
        /// The vendor, or the address of the server.
        vendor: String,
        /// The vendor's message.
        reason: String,
        /// The user's remedy.
        fix: &'static str,
    },
    /// The server answered without searching, so its answer would be made up.
    #[error("{0} answered without searching, so it may have no web search. {ALTERNATIVE_HINT}")]
    NotSearched(String),
    /// Too many searches or requests.
    #[error("The vendor allows no more searches at the moment. Try again in a minute.")]
    TooMany,
    /// The search service of the vendor is down.
    #[error("The vendor's search does not work at the moment. Try again later.")]
    Unavailable,
    /// The query is too long.
    #[error("The query is too long for the vendor's search. Use a shorter one.")]
    QueryTooLong,
    /// The searches of one request were used up without a result.
    #[error("The search ended at its limit of {0} searches without a result. Ask for something narrower.")]
    MaxUses(u32),
    /// The vendor does not accept the query, or the model declines to search for it.
    #[error("The vendor's model declined this search. Use other words.")]
    Declined,
    /// The daily limit of background work.
    #[error("{0}")]
    Overspent(#[from] BudgetRefusal),
    /// Anything else: the key, the network, the account.
    #[error("The search failed: {0}")]
    Failed(String),
}

/// The remedy that does not need the vendor.
const ALTERNATIVE_HINT: &str = "OLLIM_SEARCH_URL sets a SearXNG or an API like Brave's instead.";
