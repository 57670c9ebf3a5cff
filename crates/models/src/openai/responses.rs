//! The Responses API, used without state on the server: every request carries the whole conversation.
//!
//! The model's own output items are kept as opaque parts and sent back unchanged to the same server and model, because
//! its reasoning can only be read there. Another model gets the visible text and the tool calls.

pub(crate) mod request;
pub(crate) mod stream;
pub(crate) mod wire;
