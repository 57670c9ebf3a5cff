//! Random texts that only we know, and what is told of them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::{Secret, Trouble};

/// What turns a code into a token, and the challenge that is told beforehand (PKCE).
#[derive(Clone, Debug)]
pub struct Proof {
    /// What is told at the end.
    pub verifier: Secret,
    /// What is told at the beginning: it follows from the verifier, and not the other way round.
    pub challenge: String,
}

impl Proof {
    /// A new one.
    pub fn new() -> Result<Self, Trouble> {
        let verifier = nonce()?;
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.reveal()));
        Ok(Self { verifier, challenge })
    }
}

/// A text that nobody can guess.
pub fn nonce() -> Result<Secret, Trouble> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Trouble::Away(format!("the system gives no random numbers: {error}")))?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_new_each_time_and_its_challenge_follows_from_it() {
        let (one, other) = (Proof::new().unwrap(), Proof::new().unwrap());
        assert_ne!(one.verifier, other.verifier);
        assert_eq!(one.verifier.reveal().len(), 43);
        let digest = URL_SAFE_NO_PAD.decode(&one.challenge).unwrap();
        assert_eq!(digest, Sha256::digest(one.verifier.reveal()).to_vec());
    }
}
