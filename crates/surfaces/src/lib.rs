//! The user's surfaces: the local page, the terminal (line mode and full screen) and Discord; the
//! client and event hub they use; and the webhook endpoint.

mod admission;
mod attempts;
pub mod client;
pub mod connecting;
pub mod discord;
pub mod hook;
pub mod stage;
pub mod terminal;
pub mod tui;
pub mod web;
