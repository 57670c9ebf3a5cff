//! Makes the decisions happen.
//!
//! The engine knows ports and no vendor. It performs the assistant's effects in order and makes no choice
//! of its own: there is no `if` on a domain fact in here.

mod carrying;
pub mod commands;
pub mod desk;
pub mod drive;
mod loading;
pub mod places;
pub mod played;
pub mod ports;
pub mod reins;
pub mod run;
pub mod turns;
