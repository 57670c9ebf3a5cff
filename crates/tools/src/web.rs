//! The web tools: fetching a page and searching.
//!
//! Results come from outside: they are bounded, stripped of invisible characters, and returned as
//! text.

mod address;
mod body;
mod cache;
mod fetch;
mod guard;
mod page;
mod search;

pub(crate) use fetch::FETCH;
pub use fetch::PageFetcher;
pub use guard::{AddressPolicy, PublicAddresses, Resolver, SystemResolver};
pub(crate) use search::SEARCH;
pub use search::{ApiKey, SearchEngine, WebSearch};

#[cfg(test)]
mod tests;
