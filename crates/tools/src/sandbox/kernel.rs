//! Detects whether this kernel can enforce the sandbox.

use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};

/// The sandboxing features of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    pub files: FileRules,
    pub calls: CallFilter,
}

/// The restrictions that Landlock offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileRules {
    /// Landlock is missing or disabled.
    None,
    /// Cannot forbid truncating files: kernels before 6.2.
    WithoutTruncate,
    /// All file operations.
    Files,
    /// Also signals to other processes: kernels from 6.12 on.
    FilesAndSignals,
}

/// Availability of seccomp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFilter {
    Absent,
    Present,
}

/// The part of the protection that is left to the system call filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// Landlock forbids signals to other processes.
    Full,
    /// Landlock does not, so processes in the sandbox may signal only themselves.
    WithoutSignals,
}

impl Kernel {
    /// Probes the kernel of this machine without restricting this process.
    pub fn probe() -> Self {
        let strict = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let can =
            |abi: ABI| strict().handle_access(AccessFs::from_all(abi)).and_then(Ruleset::create).is_ok();
        let scopes = strict().scope(Scope::from_all(ABI::V6)).and_then(Ruleset::create).is_ok();
        let files = match (can(ABI::V1), can(ABI::V3), scopes) {
            (_, true, true) => FileRules::FilesAndSignals,
            (_, true, false) => FileRules::Files,
            (true, false, _) => FileRules::WithoutTruncate,
            (false, false, _) => FileRules::None,
        };
        let calls = match rustix::thread::secure_computing_mode() {
            Ok(_) => CallFilter::Present,
            Err(_) => CallFilter::Absent,
        };
        Self { files, calls }
    }

    /// Returns the strength of the sandbox on this kernel, or why there is none.
    pub fn strength(self) -> Result<Strength, String> {
        match (self.files, self.calls) {
            (FileRules::None, _) => Err(
                "this kernel has no Landlock, or it is not switched on, so a command could not be kept in"
                    .to_owned(),
            ),
            (FileRules::WithoutTruncate, _) => {
                Err("this kernel is too old to keep a command in: Linux 6.2 or newer is needed".to_owned())
            }
            (_, CallFilter::Absent) => {
                Err("this kernel has no seccomp, so a command could not be kept in".to_owned())
            }
            (FileRules::Files, CallFilter::Present) => Ok(Strength::WithoutSignals),
            (FileRules::FilesAndSignals, CallFilter::Present) => Ok(Strength::Full),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I8: an insufficient kernel gets no sandbox, with the reason.
    #[test]
    fn insufficient_kernel_gets_no_sandbox() {
        let check = |files: FileRules, calls: CallFilter, expected: Result<Strength, &str>| {
            let told = Kernel { files, calls }.strength();
            match (&told, expected) {
                (Ok(strength), Ok(expected)) => assert_eq!(*strength, expected),
                (Err(why), Err(word)) => assert!(why.contains(word), "{why}"),
                (told, expected) => panic!("{told:?} instead of {expected:?}"),
            }
        };
        check(FileRules::None, CallFilter::Present, Err("no Landlock"));
        check(FileRules::WithoutTruncate, CallFilter::Present, Err("6.2"));
        check(FileRules::FilesAndSignals, CallFilter::Absent, Err("no seccomp"));
        check(FileRules::Files, CallFilter::Present, Ok(Strength::WithoutSignals));
        check(FileRules::FilesAndSignals, CallFilter::Present, Ok(Strength::Full));
    }
}
