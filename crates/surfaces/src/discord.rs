//! Discord: a thin client, two machines without sockets and one door to the world.
//!
//! `limits` says when a request may leave and `gateway::machine` what a connection needs next; both are told the
//! time and touch nothing. `wire` is the only way out, and the only thing that is played in tests.

pub mod commands;
pub mod dm;
pub mod events;
pub mod gateway;
pub mod limits;
pub mod message;
pub mod rest;
pub mod snowflake;
pub mod split;
pub mod token;
pub mod wire;

pub use snowflake::Snowflake;
pub use token::Token;
