//! Dice: randomness that was rolled once, outside, and is only counted out here.
//!
//! A generator seeded by the caller, so that two runs with one seed choose the same names.

use crate::conversation::{Branch, ForkName, SessionId};

/// A seeded source of ids (splitmix64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice that will fall as `seed` says.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A session id nobody has used: a random UUID (version 4).
    pub fn session(&mut self) -> SessionId {
        let high = (self.roll() & !0xf000) | 0x4000;
        let low = (self.roll() & !(0b11 << 62)) | (0b10 << 62);
        let text = format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        );
        SessionId::minted(text)
    }

    /// A name for a branch that nobody has used.
    pub fn branch(&mut self) -> Branch {
        Branch::Fork(ForkName::minted(self.id8()))
    }

    /// Eight lowercase hexadecimal digits: the id of a routine, a reminder, a question.
    pub fn id8(&mut self) -> String {
        format!("{:08x}", self.roll() >> 32)
    }
}
