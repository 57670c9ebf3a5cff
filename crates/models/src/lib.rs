//! Model clients: Anthropic, OpenAI-compatible servers, the Claude Code program, and the offline
//! model.
//!
//! Vendor types are private to this crate. A client turns a context into a reply or a failure with
//! a text for the user; retries are the caller's decision.

pub mod anthropic;
mod assembly;
mod beginnings;
pub mod claude;
mod door;
pub mod fuzz;
mod key;
mod line;
pub mod offline;
pub mod openai;
mod presentable;
mod rate_limits;
mod sse;
