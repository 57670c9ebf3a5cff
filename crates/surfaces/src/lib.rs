//! Where the human is: the local page, and what every surface needs to follow along.

pub mod client;
pub mod connecting;
pub mod discord;
pub mod hook;
pub mod stage;
pub mod terminal;
pub mod tui;
pub mod web;
