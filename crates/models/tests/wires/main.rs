//! The clients that speak HTTP, against servers that read the same wires on their own.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod anthropic;
mod cuts;
mod failures;
mod hostile;
mod openai;
mod stage;
mod wire;
