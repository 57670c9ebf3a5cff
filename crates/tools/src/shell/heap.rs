//! The heap of processes that a command has started: how many they are and what they use, seen from outside.
//!
//! Nobody in a cage can leave the group of the command, so the group is all of them.

use std::path::Path;

use rustix::fs::statvfs;
use rustix::process::Pid;

/// The most processes, the most memory they may use together, and the most that they may write.
pub const PROCESSES: usize = 256;
const MEMORY: u64 = 2 * 1024 * 1024 * 1024;
const DISK: u64 = 2 * 1024 * 1024 * 1024;

/// How things stood when the command began.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    processes: usize,
    free: u64,
}

impl Before {
    /// How they stand now.
    pub fn look(work: &Path) -> Self {
        Self { processes: processes().unwrap_or_default(), free: free(work).unwrap_or_default() }
    }

    /// How many more processes there are now on this machine. This is cheap.
    pub fn more(self) -> usize {
        processes().unwrap_or_default().saturating_sub(self.processes)
    }

    /// Why the command must end because of what it wrote.
    pub fn too_much_written(self, work: &Path) -> Option<String> {
        let gone = self.free.saturating_sub(free(work)?);
        (gone > DISK).then(|| format!("it wrote too much: the disk has {} MB less", gone / 1024 / 1024))
    }
}

/// Why the group must end: nothing, if it is bearable.
pub fn unbearable(group: Pid) -> Option<String> {
    let members = members(group);
    let memory: u64 = members.iter().sum::<u64>() * rustix::param::page_size() as u64;
    if members.len() > PROCESSES {
        return Some(format!("it started too many processes: {PROCESSES} at most"));
    }
    (memory > MEMORY).then(|| format!("it used too much memory: {} MB at most", MEMORY / 1024 / 1024))
}

/// The memory of each process of `group`, in pages.
fn members(group: Pid) -> Vec<u64> {
    let group = group.as_raw_pid().to_string();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let is_process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let stats = numbers.filter(|name| is_process(name)).filter_map(|name| {
        let stat = std::fs::read_to_string(format!("/proc/{name}/stat")).ok()?;
        // A name can hold anything, and stands in brackets: the rest begins after the last.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        (*fields.get(2)? == group).then(|| fields.get(21)?.parse().ok()).flatten()
    });
    stats.collect()
}

/// The most processes and threads that there may be on this machine while a command runs, if anybody knows.
pub fn most_processes() -> Option<u64> {
    u64::try_from(processes()? + PROCESSES).ok()
}

/// How many processes and threads there are on this machine.
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
