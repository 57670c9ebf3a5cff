//! The human, the model, the clock and the disk, played.

pub mod disk;
