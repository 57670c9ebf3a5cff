//! Disks that are not there: one that only remembers, one that loses power, one that fails.

mod crash;
mod failing;
mod memory;
mod power_cut;

pub use crash::CrashDisk;
pub use failing::{FailingDisk, Fault, Lasting};
pub use memory::MemoryDisk;
pub use power_cut::AfterCut;
