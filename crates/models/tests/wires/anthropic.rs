//! Tests that apply only to the Messages API.

mod cached_share;
mod caching;
mod connection_test;
mod failures;
mod forks;
mod requests;
mod search;
mod server;
mod streams;
mod strict;
pub mod support;
