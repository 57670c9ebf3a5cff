//! PKCE with S256 (RFC 7636), and random tokens for the verifier and `state`.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::Secret;

/// A code verifier and the challenge derived from it.
#[derive(Clone, Debug)]
pub struct Pkce {
    /// Sent with the code to the token endpoint.
    pub verifier: Secret,
    /// Sent in the authorization URL: the unpadded base64url SHA-256 of the verifier.
    pub challenge: String,
}

impl Pkce {
    /// Generates a new verifier.
    pub fn new() -> io::Result<Self> {
        let verifier = random_token()?;
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.reveal()));
        Ok(Self { verifier, challenge })
    }
}

/// Returns 256 random bits as 43 characters that are valid in a URL.
pub fn random_token() -> io::Result<Secret> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| io::Error::other(format!("the system gives no random numbers: {error}")))?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verifier_is_new_and_its_challenge_is_its_s256_hash() {
        let one = Pkce::new().unwrap();
        let other = Pkce::new().unwrap();
        assert_ne!(one.verifier, other.verifier);
        assert_eq!(one.verifier.reveal().len(), 43);
        let digest = URL_SAFE_NO_PAD.decode(&one.challenge).unwrap();
        assert_eq!(digest, Sha256::digest(one.verifier.reveal()).to_vec());
    }
}
