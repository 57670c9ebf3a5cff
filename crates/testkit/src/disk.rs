//! Fake disks: in memory, with simulated power cuts, with errors, and one that aborts the process.

mod aborting;
mod failing;
mod memory;
mod power_cut;
mod recording;

pub use aborting::AbortingDisk;
pub use failing::{DiskFault, FailingDisk, FaultDuration};
pub use memory::MemoryDisk;
pub use power_cut::PowerCutState;
pub use recording::RecordingDisk;
