//! Resource limits and dropped privileges of a sandboxed command.

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit, setsid, umask};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::SandboxPlan;
use crate::shell::usage;

const MB: u64 = 1024 * 1024;

/// The limits: size of a file, private memory of a process, address space of a process, and open
/// files. The number of processes is also watched from outside, because the kernel counts them per
/// user and does not count those of root.
const MAX_FILE_BYTES: u64 = 256 * MB;
const MAX_DATA_BYTES: u64 = 1024 * MB;
const MAX_ADDRESS_SPACE_BYTES: u64 = 8 * 1024 * MB;
const MAX_OPEN_FILES: u64 = 512;
/// The nice value, so that the watching process is scheduled even beside many processes.
const NICENESS: i32 = 15;

/// Applies all limits to this process and its children.
pub fn apply(plan: &SandboxPlan) -> Result<(), String> {
    let describe = |what: &str, error: rustix::io::Errno| format!("{what} ({error})");
    umask(Mode::RWXG | Mode::RWXO);
    setsid().map_err(|error| describe("it cannot be set apart", error))?;
    rustix::process::chdir(&plan.work_dir)
        .map_err(|error| describe("its folder cannot be entered", error))?;
    let limits = [
        (Resource::Core, 0),
        (Resource::Cpu, plan.cpu_seconds),
        (Resource::Fsize, MAX_FILE_BYTES),
        (Resource::Data, MAX_DATA_BYTES),
        (Resource::As, MAX_ADDRESS_SPACE_BYTES),
        (Resource::Nofile, MAX_OPEN_FILES),
    ];
    for (resource, max) in limits {
        let limit = Rlimit { current: Some(max), maximum: Some(max) };
        setrlimit(resource, limit).map_err(|error| describe("its limits cannot be set", error))?;
    }
    limit_processes().map_err(|error| describe("its processes cannot be limited", error))?;
    nice(NICENESS).map_err(|error| describe("it cannot give way", error))?;
    // A daemon that runs as root does not run commands with root's capabilities.
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, none).map_err(|error| describe("its rights cannot be taken away", error))
}

/// Limits the processes. The kernel counts all processes of the user, including ours, so the limit
/// is computed from their current number. A lower existing limit is kept.
fn limit_processes() -> rustix::io::Result<()> {
    let Some(max) = usage::process_limit() else { return Ok(()) };
    let max = getrlimit(Resource::Nproc).maximum.map_or(max, |maximum| max.min(maximum));
    setrlimit(Resource::Nproc, Rlimit { current: Some(max), maximum: Some(max) })
}
