//! Sandbox entry point: our own binary drops its privileges in a child process and then runs a
//! command of the model.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use tools::sandbox::{Kernel, Network, SETUP_FAILED, SHELLS, SandboxPlan};

use crate::cli::SandboxArgs;
use crate::parent_death::SELF_EXE;

/// Returns the leading arguments that start a sandbox; its permissions follow.
pub fn command_prefix() -> Vec<String> {
    vec![SELF_EXE.to_owned(), "cage".to_owned()]
}

/// Returns why this machine has no sandbox, as half a sentence.
pub fn unavailable_reason(kernel: Kernel) -> Option<String> {
    let no_shell = || "there is no bash on this machine".to_owned();
    let shell = SHELLS.iter().any(|shell| Path::new(shell).exists());
    kernel.strength().err().or_else(|| (!shell).then(no_shell))
}

/// Runs the command of `args` in the sandbox and returns its exit code.
pub fn run(args: &SandboxArgs) -> ExitCode {
    let plan = SandboxPlan {
        data: args.data.clone(),
        closed: args.shut.clone(),
        work_dir: args.work.clone(),
        network: if args.network { Network::On } else { Network::Off },
        cpu_seconds: args.seconds,
    };
    tools::sandbox::run(args.parent, &plan, &args.command).unwrap_or_else(|why| {
        // stderr is the only place left to report this.
        let _ = writeln!(std::io::stderr(), "{why}.");
        ExitCode::from(SETUP_FAILED)
    })
}
