<<<<<<< HEAD
//! The world, played: what tests put in the place of vendors, people, clocks and disks.

pub mod clock;
pub mod model_server;
pub mod puppet;
pub mod story;
=======
//! The human, the model, the clock and the disk, played.

pub mod disk;
>>>>>>> files
