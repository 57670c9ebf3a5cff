//! The clients that speak HTTP, against servers that read the same wires on their own.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod anthropic;
mod cuts;
mod failures;
mod hostile;
mod openai;
mod rate_limits;
mod stage;
mod wire;
