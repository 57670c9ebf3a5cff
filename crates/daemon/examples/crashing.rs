//! The program on a disk under which it ends, at the point that CRASH_AT names. Only for tests.

use std::process::ExitCode;
use std::sync::Arc;

use testkit::disk::CrashAt;

#[expect(clippy::disallowed_methods, reason = "a test has no other way to tell a process where to end")]
fn main() -> ExitCode {
    let point = std::env::var("CRASH_AT").ok().and_then(|point| point.parse().ok());
    daemon::main_on(Arc::new(CrashAt::new(point.unwrap_or(usize::MAX))))
}
