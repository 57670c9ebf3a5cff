//! Model clients: Anthropic, OpenAI-compatible servers, the Claude Code program, and the offline
//! model.
//!
//! Vendor types are private to this crate. A client turns a context into a reply or a failure with
//! a text for the user; retries are the caller's decision.

pub mod anthropic;
mod assembly;
pub mod claude;
mod connection;
pub mod fuzz;
mod key;
pub mod offline;
pub mod openai;
mod prefix_cache;
mod rate_limits;
mod sanitizer;
mod sse;
mod vendor_client;
