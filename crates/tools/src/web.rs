//! The web: reading a page, and asking a search engine for some.
//!
//! What comes back was written by anybody. It is cut, cleaned of what nobody sees, and handed on as text.

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
