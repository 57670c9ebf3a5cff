//! Sandbox entry point: our own binary drops its privileges in a child process and then runs a
//! command of the model.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use tools::cage::{Kernel, Network, Plan, SHELLS, UNMADE};

use crate::cli::Cage;
use crate::leash::OURSELVES;

/// Returns the leading arguments that start a sandbox; its permissions follow.
pub fn words() -> Vec<String> {
    vec![OURSELVES.to_owned(), "cage".to_owned()]
}

/// Returns why this machine has no sandbox, as half a sentence.
pub fn missing(kernel: Kernel) -> Option<String> {
    let no_shell = || "there is no bash on this machine".to_owned();
    let shell = SHELLS.iter().any(|shell| Path::new(shell).exists());
    kernel.strength().err().or_else(|| (!shell).then(no_shell))
}

/// Runs the command of `args` in the sandbox and returns its exit code.
pub fn run(cage: &Cage) -> ExitCode {
    let plan = Plan {
        data: cage.data.clone(),
        shut: cage.shut.clone(),
        work: cage.work.clone(),
        network: if cage.network { Network::On } else { Network::Off },
        seconds: cage.seconds,
    };
    tools::cage::run(cage.parent, &plan, &cage.command).unwrap_or_else(|why| {
        // stderr is the only place left to report this.
        let _ = writeln!(std::io::stderr(), "{why}.");
        ExitCode::from(UNMADE)
    })
}
