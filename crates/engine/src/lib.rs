//! Executes the decisions of the domain.
//!
//! The engine knows ports and no vendor. It performs the effects of the assistant in order, and
//! decides only when something is retried and how long it may take.

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
