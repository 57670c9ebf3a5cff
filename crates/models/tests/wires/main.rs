//! Tests of the HTTP clients against independent fake servers of the same APIs.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod anthropic;
mod api;
mod cuts;
mod failures;
mod hostile;
mod openai;
mod rate_limits;
mod support;
