//! A seeded random number generator for ids. The caller provides the seed, so runs with the same
//! seed choose the same names.

use crate::conversation::{Branch, ForkName, SessionId};

#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a new session id: a random UUID (version 4).
    pub fn session_id(&mut self) -> SessionId {
        let high = (self.next_u64() & !0xf000) | 0x4000;
        let low = (self.next_u64() & !(0b11 << 62)) | (0b10 << 62);
        let text = format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        );
        SessionId::from_generated(text)
    }

    /// Returns a branch with a new name.
    pub fn new_branch(&mut self) -> Branch {
        Branch::Fork(ForkName::from_generated(self.short_id()))
    }

    /// Returns eight lowercase hexadecimal digits, the id of a routine, a reminder or a question.
    pub fn short_id(&mut self) -> String {
        format!("{:08x}", self.next_u64() >> 32)
    }
}
