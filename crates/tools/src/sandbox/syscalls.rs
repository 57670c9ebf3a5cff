//! The system calls that are allowed in the sandbox.
//!
//! Two filters apply, and a call refused by either is refused. The first allows what ordinary
//! programs need and answers everything else, including calls of later kernels, with `ENOSYS`. The
//! second refuses, among the allowed ones, calls that reach other processes, other machines or file
//! permissions, which the file rules do not cover.

mod lists;

use std::collections::BTreeMap;

use libc::{c_long, *};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use super::{Network, Strength};

type SyscallRules = BTreeMap<c_long, Vec<SeccompRule>>;

/// Installs the filters for this process and its children.
pub fn restrict(network: Network, strength: Strength) -> Result<(), String> {
    let describe = |error: seccompiler::Error| format!("the system calls cannot be shut ({error})");
    let refused = refused_calls(network, strength).map_err(|error| describe(error.into()))?;
    let allowed = lists::ALLOWED.iter().flat_map(|calls| calls.iter()).chain(refused.keys());
    let allowed: SyscallRules = allowed.map(|call| (*call, Vec::new())).collect();
    let (allow, refuse) = (SeccompAction::Allow, |error: i32| SeccompAction::Errno(error.cast_unsigned()));
    for (calls, default, matching) in
        [(refused, allow.clone(), refuse(EPERM)), (allowed, refuse(ENOSYS), allow)]
    {
        let program = filter(calls, default, matching).map_err(|error| describe(error.into()))?;
        apply_filter(&program).map_err(describe)?;
    }
    Ok(())
}

fn filter(
    calls: SyscallRules,
    otherwise: SeccompAction,
    matching: SeccompAction,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let here = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(calls, otherwise, matching, here)?.try_into()
}

/// Returns the refused calls: always refused, or only with certain arguments.
fn refused_calls(network: Network, strength: Strength) -> Result<SyscallRules, seccompiler::BackendError> {
    let mut refused: SyscallRules =
        lists::REFUSED.iter().flat_map(|calls| calls.iter()).map(|call| (*call, Vec::new())).collect();
    refused.insert(
        SYS_clone,
        NAMESPACES.iter().map(|flag| rule([arg_has_flag(0, *flag)])).collect::<Result<_, _>>()?,
    );
    refused.insert(
        SYS_ioctl,
        REFUSED_IOCTLS.iter().map(|command| rule([arg_is(1, *command)])).collect::<Result<_, _>>()?,
    );
    // A datagram socket of a pair can be redirected to another address.
    let pair = [rule([arg_is_not(0, family(AF_UNIX))]), rule([arg_masked_is(1, 0xf, SOCK_DGRAM)])];
    refused.insert(SYS_socketpair, pair.into_iter().collect::<Result<_, _>>()?);
    let not_internet = [arg_is_not(0, family(AF_INET)), arg_is_not(0, family(AF_INET6))];
    refused.insert(
        SYS_socket,
        match network {
            Network::Off => Vec::new(),
            Network::On => vec![rule(not_internet)?],
        },
    );
    // Only for the process itself: its own pid, or 0.
    for call in
        [SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setattr, SYS_sched_setparam, SYS_sched_setscheduler]
    {
        refused.insert(call, vec![rule([arg_is_not(0, 0)])?]);
    }
    refused.insert(SYS_setpriority, vec![rule([arg_is(0, PRIO_USER as u64)])?, rule([arg_is_not(1, 0)])?]);
    // Times may be set through an open file, never by path.
    refused.insert(SYS_utimensat, vec![rule([long_arg_is_not(1, 0)])?]);
    refused.insert(SYS_fchmod, mode_rules()?);
    if strength == Strength::WithoutSignals {
        refused.insert(SYS_kill, vec![rule([arg_is_not(0, 0)])?]);
        refused.extend(
            [SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo]
                .map(|call| (call, Vec::new())),
        );
    }
    Ok(refused)
}

/// Refuses permission bits for group and others. For root every permission change is refused, since
/// root owns files of other users.
fn mode_rules() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    if rustix::process::geteuid().is_root() {
        return Ok(Vec::new());
    }
    (0..12)
        .map(|bit| 1 << bit)
        .filter(|bit| bit & 0o700 == 0)
        .map(|bit| rule([arg_has_flag(1, bit)]))
        .collect()
}

/// The flags of `clone` that create namespaces.
const NAMESPACES: [u64; 7] = [
    CLONE_NEWNS as u64,
    CLONE_NEWCGROUP as u64,
    CLONE_NEWUTS as u64,
    CLONE_NEWIPC as u64,
    CLONE_NEWUSER as u64,
    CLONE_NEWPID as u64,
    CLONE_NEWNET as u64,
];

/// Device and file ioctls: typing into a terminal, console menus, and file flags.
const REFUSED_IOCTLS: [u64; 4] = [0x5412, 0x541c, 0x4008_6602, 0x401c_5820];

type Condition = Result<SeccompCondition, seccompiler::BackendError>;

fn rule<const N: usize>(conditions: [Condition; N]) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}

fn arg_is(argument: u8, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn arg_is_not(argument: u8, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

fn long_arg_is_not(argument: u8, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, value)
}

fn arg_has_flag(argument: u8, flag: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)
}

fn arg_masked_is(argument: u8, mask: u64, value: i32) -> Condition {
    SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(mask),
        u64::from(value.cast_unsigned()),
    )
}

fn family(family: i32) -> u64 {
    u64::from(family.cast_unsigned())
}
