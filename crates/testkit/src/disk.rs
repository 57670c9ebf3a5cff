//! Disks that are not there: one that only remembers, one that loses power, one that fails,
//! and one on which the process ends.

mod crash;
mod crash_at;
mod failing;
mod memory;
mod power_cut;

pub use crash::CrashDisk;
pub use crash_at::CrashAt;
pub use failing::{FailingDisk, Fault, Lasting};
pub use memory::MemoryDisk;
pub use power_cut::AfterCut;
