//! Tests of the Discord client against a fake Discord in simulated time, and once over real
//! sockets.
#![expect(clippy::unwrap_used, reason = "a test may stop")]

mod bridge;
mod fatal;
mod fixture;
mod limits;
mod messages;
mod sockets;
mod storm;
