//! The door for other programs: who is let in, what is taken, and how much is borne.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop at once, with their reason")]

mod bodies;
mod limits;
mod mutations;
mod proofs;
mod rig;
