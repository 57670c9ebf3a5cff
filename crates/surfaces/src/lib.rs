//! Where the human is: the local page, the terminal by lines and as a full screen, and Discord; what each of them needs to
//! follow along; and the door through which other programs call.

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
