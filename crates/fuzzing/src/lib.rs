//! Fuzz targets for all parsers of external input, and a simple fuzzer.
//!
//! The targets are used by libFuzzer (`fuzz/`), where available, and by [`fuzz`], which needs only
//! the stable toolchain: it mutates the inputs in `fuzz/corpus` with a seed, so that findings are
//! reproducible.

pub mod corpus;
mod mutation;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};

use domain::rng::Rng;

pub use mutation::mutate;
pub use targets::{FuzzTarget, TARGETS};

/// Maximum input length. Longer inputs are rejected by limits that have their own tests.
pub const MAX_INPUT_BYTES: usize = 4_096;

/// An input that makes a target panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    pub target: &'static str,
    pub bytes: Vec<u8>,
    /// The panic message.
    pub message: String,
}

/// Runs the target `name` without catching panics.
pub fn run_by_name(name: &str, bytes: &[u8]) {
    if let Some(target) = TARGETS.iter().find(|target| target.name == name) {
        (target.run)(bytes);
    }
}

/// Runs `target` with these bytes.
pub fn run_target(target: &FuzzTarget, bytes: &[u8]) -> Result<(), Crash> {
    // A target keeps no state, so unwinding leaves nothing inconsistent.
    catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))).map_err(|panic| {
        let output = panic.downcast_ref::<String>().cloned();
        let output = output.or_else(|| panic.downcast_ref::<&str>().map(|output| (*output).to_owned()));
        Crash { target: target.name, bytes: bytes.to_vec(), message: output.unwrap_or_default() }
    })
}

/// Runs `target` on its corpus, and then `times` on mutations of it, determined by `seed`.
///
/// # Errors
/// The first crash.
pub fn fuzz(target: &FuzzTarget, seed: u64, times: u64) -> Result<(), Crash> {
    let mut known = corpus::inputs(target.name);
    for bytes in &known {
        run_target(target, bytes)?;
    }
    let mut rng = Rng::new(seed);
    for _ in 0..times {
        let bytes = mutate(&known, &mut rng);
        run_target(target, &bytes)?;
        // Some mutations join the corpus, so that changes accumulate.
        if rng.next_u64().is_multiple_of(64) {
            known.push(bytes);
        }
    }
    Ok(())
}
