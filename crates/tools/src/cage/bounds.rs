//! Resource limits and dropped privileges of a sandboxed command.

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit, setsid, umask};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::Plan;
use crate::shell::heap;

const MB: u64 = 1024 * 1024;

/// The limits: size of a file, private memory of a process, address space of a process, and open
/// files. The number of processes is also watched from outside, because the kernel counts them per
/// user and does not count those of root.
const FILE: u64 = 256 * MB;
const MEMORY: u64 = 1024 * MB;
const MAPPED: u64 = 8 * 1024 * MB;
const OPEN: u64 = 512;
/// The nice value, so that the watching process is scheduled even beside many processes.
const GIVES_WAY: i32 = 15;

/// Applies all limits to this process and its children.
pub fn set(plan: &Plan) -> Result<(), String> {
    let told = |what: &str, error: rustix::io::Errno| format!("{what} ({error})");
    umask(Mode::RWXG | Mode::RWXO);
    setsid().map_err(|error| told("it cannot be set apart", error))?;
    rustix::process::chdir(&plan.work).map_err(|error| told("its folder cannot be entered", error))?;
    let limits = [
        (Resource::Core, 0),
        (Resource::Cpu, plan.seconds),
        (Resource::Fsize, FILE),
        (Resource::Data, MEMORY),
        (Resource::As, MAPPED),
        (Resource::Nofile, OPEN),
    ];
    for (resource, most) in limits {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, limit).map_err(|error| told("its limits cannot be set", error))?;
    }
    limit_processes().map_err(|error| told("its processes cannot be limited", error))?;
    nice(GIVES_WAY).map_err(|error| told("it cannot give way", error))?;
    // A daemon that runs as root does not run commands with root's capabilities.
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, none).map_err(|error| told("its rights cannot be taken away", error))
}

/// Limits the processes. The kernel counts all processes of the user, including ours, so the limit
/// is computed from their current number. A lower existing limit is kept.
fn limit_processes() -> rustix::io::Result<()> {
    let Some(most) = heap::most_processes() else { return Ok(()) };
    let most = getrlimit(Resource::Nproc).maximum.map_or(most, |maximum| most.min(maximum));
    setrlimit(Resource::Nproc, Rlimit { current: Some(most), maximum: Some(most) })
}
