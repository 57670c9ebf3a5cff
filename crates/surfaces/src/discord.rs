//! The Discord surface.
//!
//! `limits` computes when a request may be sent and `gateway::machine` what a connection does next;
//! both are sans-I/O and receive the time. `transport` is the only access to the network, and the
//! only part that tests replace.

pub mod commands;
pub mod dm;
pub mod events;
pub mod gateway;
pub mod message;
pub mod rate_limits;
pub mod rest;
pub mod snowflake;
pub mod split;
pub mod token;
pub mod transport;

pub use snowflake::Snowflake;
pub use token::Token;
