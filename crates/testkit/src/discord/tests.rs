//! Tests of the fake Discord itself: it must behave like the real one, or tests that use it prove
//! little.

mod bot;
mod commands;
mod door;
mod faults;
mod forms;
mod gateway;
mod interactions;
mod limits;
mod messages;
mod person;
