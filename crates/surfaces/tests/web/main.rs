//! Tests of the page's server with raw requests over sockets.
#![expect(clippy::unwrap_used, reason = "a test may stop")]

#[path = "../playing/mod.rs"]
mod playing;

mod api;
mod fixture;
mod limits;
mod listeners;
mod origins;
mod pairing;
mod schedule;
mod sessions;
mod views;
