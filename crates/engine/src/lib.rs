//! Makes the decisions happen.
//!
//! The engine knows ports and no vendor. What follows from what happened is decided in the domain: the engine performs the
//! assistant's effects in order, and decides only when something is tried again and how long it may take.

mod carrying;
pub mod commands;
pub mod desk;
pub mod drive;
mod loading;
mod owed;
pub mod places;
pub mod played;
pub mod ports;
pub mod reins;
pub mod run;
pub mod turns;
