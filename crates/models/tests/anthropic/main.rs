//! The Anthropic client against a server that reads the same wire on its own.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod cached_share;
mod caching;
mod cuts;
mod failures;
mod forks;
mod hostile;
mod requests;
mod server;
mod stage;
mod streams;
