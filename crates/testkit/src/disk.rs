//! Fake disks: in memory, with simulated power cuts, with errors, and one that aborts the process.

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
