//! How much a command in the cage may use, and what it is no longer.

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit, setsid, umask};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::Plan;
use crate::shell::heap;

const MB: u64 = 1024 * 1024;

/// The longest file, the most memory of a process that is its own, the most that it may map at all, and the most files
/// it may have open. How many processes there are is watched from outside as well: the system counts them by user, and not
/// those of the superuser.
const FILE: u64 = 256 * MB;
const MEMORY: u64 = 1024 * MB;
const MAPPED: u64 = 8 * 1024 * MB;
const OPEN: u64 = 512;
/// How much it gives way to everybody else, so that whoever watches it is not kept waiting by a crowd of processes.
const GIVES_WAY: i32 = 15;

/// Sets all of it, for this process and those it starts.
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
    // Whoever runs us as the superuser does not run this as one.
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, none).map_err(|error| told("its rights cannot be taken away", error))
}

/// The system counts the processes of the human, ours and all others: nobody knows better than how many there are now. Who
/// is held to fewer stays so.
fn limit_processes() -> rustix::io::Result<()> {
    let Some(most) = heap::most_processes() else { return Ok(()) };
    let most = getrlimit(Resource::Nproc).maximum.map_or(most, |maximum| most.min(maximum));
    setrlimit(Resource::Nproc, Rlimit { current: Some(most), maximum: Some(most) })
}
