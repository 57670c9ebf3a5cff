//! The Responses API without server-side state: every request contains the whole conversation.
//!
//! The model's output items are stored as opaque parts and sent back unchanged to the same server
//! and model, which alone can read the reasoning in them. Another model gets the visible text and
//! the tool calls.

pub(crate) mod protocol;
pub(crate) mod request;
pub(crate) mod stream;
