//! What is of the Messages API alone.

mod cached_share;
mod caching;
mod failures;
mod forks;
mod requests;
mod server;
pub mod stage;
mod streams;
