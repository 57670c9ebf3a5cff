//! The chat-completions client against a server that reads the same wire on its own.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod calls;
mod cuts;
mod failures;
mod hostile;
mod requests;
mod server;
mod stage;
mod streams;
mod toolless;
