//! Random bytes for unique names.

use crate::AccountError;

/// Ten random bytes.
pub(crate) fn random_bytes() -> Result<[u8; 10], AccountError> {
    let mut bytes = [0; 10];
    let failed = |error| AccountError::Unavailable(format!("the system gives no random numbers: {error}."));
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
