//! What reads words of others, each behind one function of bytes, and who knocks at it with broken ones.
//!
//! The same functions are called by libFuzzer (`fuzz/`), where it can be had, and by [`knock`], which needs nothing but
//! the toolchain: it changes what lies in `fuzz/corpus` by a seed, so that what it finds is found again.

pub mod corpus;
mod doors;
mod mutation;

use std::panic::{AssertUnwindSafe, catch_unwind};

use domain::dice::Dice;

pub use doors::{DOORS, Door};
pub use mutation::mutated;

/// The longest input. What is longer is refused by bounds that have tests of their own.
pub const LONGEST: usize = 4_096;

/// What made a door panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The door.
    pub door: &'static str,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// What it said.
    pub said: String,
}

/// Knocks at the door called `name`, for who catches panics otherwise.
pub fn read(name: &str, bytes: &[u8]) {
    if let Some(door) = DOORS.iter().find(|door| door.name == name) {
        (door.read)(bytes);
    }
}

/// Knocks at `door` with these bytes.
pub fn try_one(door: &Door, bytes: &[u8]) -> Result<(), Broken> {
    // What a door reads it does not keep, so nothing is left half-done behind it.
    catch_unwind(AssertUnwindSafe(|| (door.read)(bytes))).map_err(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|said| (*said).to_owned()));
        Broken { door: door.name, bytes: bytes.to_vec(), said: said.unwrap_or_default() }
    })
}

/// Knocks at `door` with what lies in its corpus, and then `times` with something made of that as `seed` says.
///
/// # Errors
/// What broke it, the first of all.
pub fn knock(door: &Door, seed: u64, times: u64) -> Result<(), Broken> {
    let mut known = corpus::of(door.name);
    for bytes in &known {
        try_one(door, bytes)?;
    }
    let mut dice = Dice::new(seed);
    for _ in 0..times {
        let bytes = mutated(&known, &mut dice);
        try_one(door, &bytes)?;
        // What was made once is made more of, so that changes add up.
        if dice.roll().is_multiple_of(64) {
            known.push(bytes);
        }
    }
    Ok(())
}
