//! Tests of the fake Discord itself: it must behave like the real one, or tests that use it prove
//! little.

mod bot;
mod commands;
mod fake_user;
mod faults;
mod gateway;
mod http;
mod interactions;
mod limits;
mod message_rules;
mod messages;
