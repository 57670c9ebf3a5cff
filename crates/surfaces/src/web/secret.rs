//! Secrets: random, shown once, kept only as a hash, compared in constant time.

use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

/// A random text of hexadecimal digits. It is never printed by accident.
pub struct Secret(String);

impl Secret {
    /// A new one.
    pub fn mint() -> Result<Self, NoRandomness> {
        Self::of_bytes::<32>()
    }

    /// A new one of 128 bits: short enough for a line, and for something that works once.
    pub fn mint_code() -> Result<Self, NoRandomness> {
        Self::of_bytes::<16>()
    }

    fn of_bytes<const N: usize>() -> Result<Self, NoRandomness> {
        let mut bytes = [0; N];
        getrandom::fill(&mut bytes).map_err(|error| NoRandomness(error.to_string()))?;
        Ok(Self(hex(&bytes)))
    }

    /// The text, for the one who is meant to have it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Its hash.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The hash (SHA-256) of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The hash of `text`.
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// Whether both are the same, in a time that tells nothing about where they differ.
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// The first characters, for lists.
    pub fn short(&self) -> String {
        hex(&self.0[..4])
    }
}

/// The system gave no random numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random numbers ({0}), so no key can be made; check /dev/urandom")]
pub struct NoRandomness(String);

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
