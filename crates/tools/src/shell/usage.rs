//! Observes the processes of a command from outside: their number and their use of memory and disk.
//!
//! A process in the sandbox cannot leave the process group of the command, so the group contains
//! all of them.

use std::path::Path;

use rustix::fs::statvfs;
use rustix::process::Pid;

/// The limits: processes, total memory, and written bytes.
pub const MAX_PROCESSES: usize = 256;
const MAX_MEMORY_BYTES: u64 = 2 * 1024 * 1024 * 1024;
const MAX_WRITTEN_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// The machine's state before the command started.
#[derive(Clone, Copy, Debug)]
pub struct Baseline {
    processes: usize,
    free_bytes: u64,
}

impl Baseline {
    /// Reads the current state.
    pub fn measure(work: &Path) -> Self {
        Self {
            processes: process_count().unwrap_or_default(),
            free_bytes: free_bytes(work).unwrap_or_default(),
        }
    }

    /// Returns how many more processes the machine has now. This is cheap.
    pub fn additional_processes(self) -> usize {
        process_count().unwrap_or_default().saturating_sub(self.processes)
    }

    /// Returns the reason if the command has written too much.
    pub fn write_limit_exceeded(self, work: &Path) -> Option<String> {
        let gone = self.free_bytes.saturating_sub(free_bytes(work)?);
        (gone > MAX_WRITTEN_BYTES)
            .then(|| format!("it wrote too much: the disk has {} MB less", gone / 1024 / 1024))
    }
}

/// Returns the reason if the group exceeds a limit.
pub fn limit_exceeded(group: Pid) -> Option<String> {
    let members = member_memory(group);
    let memory: u64 = members.iter().sum::<u64>() * rustix::param::page_size() as u64;
    if members.len() > MAX_PROCESSES {
        return Some(format!("it started too many processes: {MAX_PROCESSES} at most"));
    }
    (memory > MAX_MEMORY_BYTES)
        .then(|| format!("it used too much memory: {} MB at most", MAX_MEMORY_BYTES / 1024 / 1024))
}

/// Returns the memory of each process of `group`, in pages.
fn member_memory(group: Pid) -> Vec<u64> {
    let group = group.as_raw_pid().to_string();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let is_process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let stats = numbers.filter(|name| is_process(name)).filter_map(|name| {
        let stat = std::fs::read_to_string(format!("/proc/{name}/stat")).ok()?;
        // The name is in parentheses and may contain any character, so the fields begin after the
        // last parenthesis.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        (*fields.get(2)? == group).then(|| fields.get(21)?.parse().ok()).flatten()
    });
    stats.collect()
}

/// Returns the limit of processes and threads on this machine while a command runs, if their number
/// is known.
pub fn process_limit() -> Option<u64> {
    u64::try_from(process_count()? + MAX_PROCESSES).ok()
}

/// Returns the number of processes and threads on this machine.
fn process_count() -> Option<usize> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    load.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

fn free_bytes(work: &Path) -> Option<u64> {
    let disk = statvfs(work).ok()?;
    Some(disk.f_bavail * disk.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_group_is_measured_and_within_limits() {
        let group = rustix::process::getpgrp();
        assert!(!member_memory(group).is_empty());
        assert!(process_count().is_some_and(|count| count > 0));
        assert_eq!(limit_exceeded(group), None);
        assert_eq!(Baseline::measure(Path::new("/")).write_limit_exceeded(Path::new("/")), None);
    }
}
