//! The program.

use std::process::ExitCode;

fn main() -> ExitCode {
    daemon::main()
}
