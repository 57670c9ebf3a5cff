//! The world, played: what tests put in the place of vendors and people.

pub mod model_server;
pub mod puppet;
