//! Tests of the webhook endpoint: authentication, payloads and limits.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop at once, with their reason")]

mod bodies;
mod fixture;
mod limits;
mod mutations;
mod proofs;
