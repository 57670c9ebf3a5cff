//! Tests that apply only to the Messages API.

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
