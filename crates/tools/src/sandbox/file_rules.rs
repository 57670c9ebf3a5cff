//! The files that are visible in the sandbox.
//!
//! Everything that is not listed here is inaccessible: the user's home, other processes, devices,
//! the state of the daemon. Names at the top of the data directory are opened without following
//! links, so none of them can be redirected.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope, make_bitflags,
};
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat};

use super::{Network, SandboxPlan};
use crate::files::is_closed;

/// The minimum Landlock version of a kernel.
const MIN_ABI: ABI = ABI::V3;

/// Programs and their libraries.
const PROGRAMS: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];

/// Machine configuration that programs read. It contains no secrets.
const SYSTEM_CONFIG: [&str; 20] = [
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/fonts",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/perl",
    "/etc/pki",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
];

/// Files for resolving network addresses.
const NETWORK_CONFIG: [&str; 6] =
    ["/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/protocols", "/etc/resolv.conf", "/etc/services"];

/// Devices without stored data.
const DEVICES: [&str; 5] = ["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];

/// The maximum number of readable top-level entries of the data directory.
const MAX_TOP_LEVEL_ENTRIES: usize = 1000;

/// Restricts this process to the files of `plan`.
pub fn restrict(plan: &SandboxPlan) -> Result<(), String> {
    let describe = |error: &dyn std::fmt::Display| format!("the files cannot be shut ({error})");
    if let Some(open) = PROGRAMS.iter().find(|open| is_within(&plan.data, open)) {
        return Err(format!("the data directory lies in {open}, which every program can read"));
    }
    let mut rules = RuleBuilder(ruleset(plan.network).map_err(|error| describe(&error))?);
    let run = make_bitflags!(AccessFs::{Execute | ReadFile | ReadDir});
    let read_only = make_bitflags!(AccessFs::{ReadFile | ReadDir});
    let read_write = make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate});
    let addresses: &[&str] = match plan.network {
        Network::On => &NETWORK_CONFIG,
        Network::Off => &[],
    };
    PROGRAMS.iter().try_for_each(|path| rules.allow_path(path, run))?;
    SYSTEM_CONFIG.iter().chain(addresses).try_for_each(|path| rules.allow_path(path, read_only))?;
    DEVICES.iter().try_for_each(|path| rules.allow_path(path, read_write))?;
    for entry in open_readable(plan).map_err(|error| describe(&error))? {
        rules.allow_fd(&entry, read_only)?;
    }
    let modify = make_bitflags!(AccessFs::{
        WriteFile | Truncate | RemoveDir | RemoveFile | MakeDir | MakeReg | MakeSym | Refer
    });
    let work = open_dir_no_follow(&plan.work_dir).map_err(|error| describe(&error))?;
    rules.allow_fd(&work, run | modify)?;
    let status = rules.0.restrict_self().map_err(|error| describe(&error))?;
    match (status.ruleset, status.no_new_privs) {
        (RulesetStatus::NotEnforced, _) | (_, false) => Err("this kernel does not shut files".to_owned()),
        (RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced, true) => Ok(()),
    }
}

/// Creates the ruleset: the listed operations are forbidden unless a rule allows them. All file
/// operations of [`MIN_ABI`] are required; restrictions of newer kernels are used where available,
/// and seccomp covers them everywhere.
fn ruleset(network: Network) -> Result<RulesetCreated, landlock::RulesetError> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(MIN_ABI))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::IoctlDev)?
        .handle_access(AccessFs::ResolveUnix)?
        .scope(Scope::from_all(ABI::V6))?;
    match network {
        Network::Off => ruleset.handle_access(AccessNet::from_all(ABI::V4))?.create(),
        Network::On => ruleset.create(),
    }
}

struct RuleBuilder(RulesetCreated);

impl RuleBuilder {
    /// Allows `access` beneath `path`, if it exists.
    fn allow_path(&mut self, path: &str, access: BitFlags<AccessFs>) -> Result<(), String> {
        match openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Ok(open) => self.allow_fd(&open, access),
            Err(_) => Ok(()),
        }
    }

    fn allow_fd(&mut self, open: &OwnedFd, access: BitFlags<AccessFs>) -> Result<(), String> {
        let describe = |error: &dyn std::fmt::Display| format!("the files cannot be shut ({error})");
        let stat = fstat(open).map_err(|error| describe(&error))?;
        let access = if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            access
        } else {
            access & AccessFs::from_file(MIN_ABI)
        };
        let rule = PathBeneath::new(open.as_fd(), access);
        (&mut self.0).add_rule(rule).map(drop).map_err(|error| describe(&error))
    }
}

/// Opens the readable entries at the top of the data directory.
fn open_readable(plan: &SandboxPlan) -> rustix::io::Result<Vec<OwnedFd>> {
    let data = openat(CWD, &plan.data, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut found = Vec::new();
    for entry in Dir::read_from(&data)?.take(MAX_TOP_LEVEL_ENTRIES) {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy();
        if name == "." || name == ".." || is_closed(0, &name) || plan.closed.iter().any(|shut| *shut == name)
        {
            continue;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(open) = openat(&data, entry.file_name(), flags, Mode::empty()) else { continue };
        let kind = FileType::from_raw_mode(fstat(&open)?.st_mode);
        if matches!(kind, FileType::RegularFile | FileType::Directory) {
            found.push(open);
        }
    }
    Ok(found)
}

/// Opens a folder that must not be a link.
fn open_dir_no_follow(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
}

fn is_within(path: &Path, open: &str) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
    real(path).starts_with(real(Path::new(open)))
}
