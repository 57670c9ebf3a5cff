//! The claude engine: the real program against a played model server, and a stand-in for its worst days.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod driven;
mod failures;
mod hooks;
mod measure;
mod sessions;
mod signing_in;
mod stage;
mod tools;
mod turns;
mod ugly;
