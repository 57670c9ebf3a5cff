//! Who answers: vendors of language models, one file a wire format, and the offline brain.
//!
//! A vendor's types stop here. What goes in is a context, what comes out is a reply or a failure with words
//! for the human; nothing in here tries twice.

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
