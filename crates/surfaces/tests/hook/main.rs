//! Tests of the webhook endpoint: authentication, payloads and limits.
#![expect(clippy::unwrap_used, reason = "test helpers panic with a message")]

mod bodies;
mod fixture;
mod limits;
mod mutations;
mod proofs;
