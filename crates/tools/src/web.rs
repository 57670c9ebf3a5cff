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
pub use fetch::Fetch;
pub use guard::{Public, Reach, Resolver, System};
pub(crate) use search::SEARCH;
pub use search::{Engine, Key, Search};

#[cfg(test)]
mod tests;
