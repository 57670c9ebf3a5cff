//! Observes the processes of a command from outside: their number and their use of memory and disk.
//!
//! A process in the sandbox cannot leave the process group of the command, so the group contains
//! all of them.

use std::path::Path;

use rustix::fs::statvfs;
use rustix::process::Pid;

/// The limits: processes, total memory, and written bytes.
pub const PROCESSES: usize = 256;
const MEMORY: u64 = 2 * 1024 * 1024 * 1024;
const DISK: u64 = 2 * 1024 * 1024 * 1024;

/// The machine's state before the command started.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    processes: usize,
    free: u64,
}

impl Before {
    /// Reads the current state.
    pub fn look(work: &Path) -> Self {
        Self { processes: processes().unwrap_or_default(), free: free(work).unwrap_or_default() }
    }

    /// Returns how many more processes the machine has now. This is cheap.
    pub fn more(self) -> usize {
        processes().unwrap_or_default().saturating_sub(self.processes)
    }

    /// Returns the reason if the command has written too much.
    pub fn too_much_written(self, work: &Path) -> Option<String> {
        let gone = self.free.saturating_sub(free(work)?);
        (gone > DISK).then(|| format!("it wrote too much: the disk has {} MB less", gone / 1024 / 1024))
    }
}

/// Returns the reason if the group exceeds a limit.
pub fn unbearable(group: Pid) -> Option<String> {
    let members = members(group);
    let memory: u64 = members.iter().sum::<u64>() * rustix::param::page_size() as u64;
    if members.len() > PROCESSES {
        return Some(format!("it started too many processes: {PROCESSES} at most"));
    }
    (memory > MEMORY).then(|| format!("it used too much memory: {} MB at most", MEMORY / 1024 / 1024))
}

/// Returns the memory of each process of `group`, in pages.
fn members(group: Pid) -> Vec<u64> {
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
pub fn most_processes() -> Option<u64> {
    u64::try_from(processes()? + PROCESSES).ok()
}

/// Returns the number of processes and threads on this machine.
fn processes() -> Option<usize> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    load.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

fn free(work: &Path) -> Option<u64> {
    let disk = statvfs(work).ok()?;
    Some(disk.f_bavail * disk.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_group_is_seen_and_bearable() {
        let group = rustix::process::getpgrp();
        assert!(!members(group).is_empty());
        assert!(processes().is_some_and(|count| count > 0));
        assert_eq!(unbearable(group), None);
        assert_eq!(Before::look(Path::new("/")).too_much_written(Path::new("/")), None);
    }
}
