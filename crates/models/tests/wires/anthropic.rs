//! What is of the Messages API alone.

mod cached_share;
mod caching;
mod examined;
mod failures;
mod forks;
mod requests;
mod search;
mod server;
pub mod stage;
mod streams;
mod strict;
