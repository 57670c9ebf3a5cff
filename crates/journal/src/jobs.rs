//! The job files as they live: what they plan, from one look to the next.
//!
//! People, editors and programs change these files while the assistant runs. What comes out of here is only what
//! matters: this is planned now, this is gone, this cannot be read and why. A file that cannot be read keeps what
//! it planned before, and nobody is told anything about a file that is still being saved.

mod book;
mod kind;
mod sheet;
mod shelf;
mod watch;

pub use book::JobBook;
pub use watch::{LOOKS_EVERY, Watch, watch};
