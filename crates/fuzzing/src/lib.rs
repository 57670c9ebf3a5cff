//! Fuzz targets for all parsers of external input, and a simple fuzzer.
//!
//! The targets are used by libFuzzer (`fuzz/`), where available, and by [`fuzz`], which needs only
//! the stable toolchain: it mutates the inputs in `fuzz/corpus` with a seed, so that findings are
//! reproducible.

pub mod corpus;
mod doors;
mod mutation;

use std::panic::{AssertUnwindSafe, catch_unwind};

use domain::dice::Dice;

pub use doors::{DOORS, Door};
pub use mutation::mutated;

/// Maximum input length. Longer inputs are rejected by limits that have their own tests.
pub const LONGEST: usize = 4_096;

/// An input that makes a target panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub door: &'static str,
    pub bytes: Vec<u8>,
    /// The panic message.
    pub said: String,
}

/// Runs the target `name` without catching panics.
pub fn read(name: &str, bytes: &[u8]) {
    if let Some(door) = DOORS.iter().find(|door| door.name == name) {
        (door.read)(bytes);
    }
}

/// Runs `target` with these bytes.
pub fn try_one(door: &Door, bytes: &[u8]) -> Result<(), Broken> {
    // A target keeps no state, so unwinding leaves nothing inconsistent.
    catch_unwind(AssertUnwindSafe(|| (door.read)(bytes))).map_err(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|said| (*said).to_owned()));
        Broken { door: door.name, bytes: bytes.to_vec(), said: said.unwrap_or_default() }
    })
}

/// Runs `target` on its corpus, and then `times` on mutations of it, determined by `seed`.
///
/// # Errors
/// The first crash.
pub fn knock(door: &Door, seed: u64, times: u64) -> Result<(), Broken> {
    let mut known = corpus::of(door.name);
    for bytes in &known {
        try_one(door, bytes)?;
    }
    let mut dice = Dice::new(seed);
    for _ in 0..times {
        let bytes = mutated(&known, &mut dice);
        try_one(door, &bytes)?;
        // Some mutations join the corpus, so that changes accumulate.
        if dice.roll().is_multiple_of(64) {
            known.push(bytes);
        }
    }
    Ok(())
}
