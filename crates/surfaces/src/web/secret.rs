//! Random secrets, which are shown once, stored only as a hash, and compared in constant time.

use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

/// A random text of hexadecimal digits. `Debug` hides it.
pub struct Secret(String);

impl Secret {
    /// Generates a secret of 256 bits.
    pub fn generate() -> Result<Self, NoRandomness> {
        Self::random::<32>()
    }

    /// Generates a secret of 128 bits for one-time codes.
    pub fn generate_code() -> Result<Self, NoRandomness> {
        Self::random::<16>()
    }

    fn random<const N: usize>() -> Result<Self, NoRandomness> {
        let mut bytes = [0; N];
        getrandom::fill(&mut bytes).map_err(|error| NoRandomness(error.to_string()))?;
        Ok(Self(hex(&bytes)))
    }

    /// Returns the secret text.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// SHA-256 hash of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// Compares in constant time.
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// Returns the first characters, for lists.
    pub fn short(&self) -> String {
        hex(&self.0[..4])
    }
}

/// The system provides no random numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random numbers ({0}), so no key can be made; check /dev/urandom")]
pub struct NoRandomness(String);

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
