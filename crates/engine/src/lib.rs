//! Executes the decisions of the domain.
//!
//! The engine knows ports and no vendor. It performs the effects of the assistant in order, and
//! decides only when something is retried and how long it may take.

mod approved_calls;
pub mod call_slots;
pub mod commands;
pub mod driver;
pub mod event_loop;
pub mod handle;
pub mod ports;
mod retry_queue;
pub mod simulation;
mod skill_loads;
pub mod turn_control;
pub mod turns;
