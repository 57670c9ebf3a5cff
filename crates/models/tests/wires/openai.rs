//! Tests that apply only to the chat-completions and Responses APIs.

mod calls;
mod examined;
mod failures;
mod hostile;
mod notes;
mod reasoning;
mod requests;
mod search;
mod server;
pub mod stage;
mod streams;
mod toolless;
