//! Tests that apply only to the chat-completions and Responses APIs.

mod calls;
mod connection_test;
mod failures;
mod hostile;
mod notes;
mod reasoning;
mod requests;
mod search;
mod server;
mod streams;
pub mod support;
mod without_tools;
