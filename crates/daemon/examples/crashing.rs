//! The program on a disk that aborts the process at the operation number given in CRASH_AT. Only
//! for tests.

use std::process::ExitCode;
use std::sync::Arc;

use testkit::disk::AbortingDisk;

#[expect(clippy::disallowed_methods, reason = "a test has no other way to pass the crash point to a process")]
fn main() -> ExitCode {
    let point = std::env::var("CRASH_AT").ok().and_then(|point| point.parse().ok());
    daemon::main_on(Arc::new(AbortingDisk::new(point.unwrap_or(usize::MAX))))
}
