//! The kernel: whether this one can make a cage.

use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};

/// What a kernel can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What it can forbid about files.
    pub files: FileRules,
    /// Whether it can forbid system calls.
    pub calls: CallFilter,
}

/// What Landlock can forbid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileRules {
    /// Nothing: it is not there, or was not switched on.
    None,
    /// Some things, but not that files are cut short: kernels before 6.2.
    Leaky,
    /// Everything about files.
    Files,
    /// Signals to others too: kernels from 6.12 on.
    FilesAndSignals,
}

/// Whether seccomp is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFilter {
    /// It is not.
    Absent,
    /// It is.
    Present,
}

/// How much of the work is left to the list of system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// Signals to others are forbidden by the file rules.
    Full,
    /// They are not, so nothing in the cage can send any but to itself.
    WithoutSignals,
}

impl Kernel {
    /// Looks at the kernel of this machine. Nothing is restricted by that.
    pub fn look() -> Self {
        let strict = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let can =
            |abi: ABI| strict().handle_access(AccessFs::from_all(abi)).and_then(Ruleset::create).is_ok();
        let scopes = strict().scope(Scope::from_all(ABI::V6)).and_then(Ruleset::create).is_ok();
        let files = match (can(ABI::V1), can(ABI::V3), scopes) {
            (_, true, true) => FileRules::FilesAndSignals,
            (_, true, false) => FileRules::Files,
            (true, false, _) => FileRules::Leaky,
            (false, false, _) => FileRules::None,
        };
        let calls = match rustix::thread::secure_computing_mode() {
            Ok(_) => CallFilter::Present,
            Err(_) => CallFilter::Absent,
        };
        Self { files, calls }
    }

    /// How strong a cage can be here, or why there can be none.
    pub fn strength(self) -> Result<Strength, String> {
        match (self.files, self.calls) {
            (FileRules::None, _) => Err(
                "this kernel has no Landlock, or it is not switched on, so a command could not be kept in"
                    .to_owned(),
            ),
            (FileRules::Leaky, _) => {
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

    /// I8: where the kernel cannot, there is no cage, and it is said why.
    #[test]
    fn a_kernel_that_cannot_keep_a_command_in_makes_no_cage() {
        let check = |files: FileRules, calls: CallFilter, expected: Result<Strength, &str>| {
            let told = Kernel { files, calls }.strength();
            match (&told, expected) {
                (Ok(strength), Ok(expected)) => assert_eq!(*strength, expected),
                (Err(why), Err(word)) => assert!(why.contains(word), "{why}"),
                (told, expected) => panic!("{told:?} instead of {expected:?}"),
            }
        };
        check(FileRules::None, CallFilter::Present, Err("no Landlock"));
        check(FileRules::Leaky, CallFilter::Present, Err("6.2"));
        check(FileRules::FilesAndSignals, CallFilter::Absent, Err("no seccomp"));
        check(FileRules::Files, CallFilter::Present, Ok(Strength::WithoutSignals));
        check(FileRules::FilesAndSignals, CallFilter::Present, Ok(Strength::Full));
    }
}
