//! The user's surfaces: the local page, the terminal (line mode and full screen) and Discord; the
//! client and event hub they use; and the webhook endpoint.

pub mod account_connector;
mod admission;
mod attempts;
pub mod client;
pub mod discord;
pub mod event_hub;
pub mod terminal;
pub mod tui;
pub mod web;
pub mod webhook;
