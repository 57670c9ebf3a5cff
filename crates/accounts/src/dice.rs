//! Random bytes for unique names.

use crate::Trouble;

/// Ten random bytes.
pub(crate) fn rolled() -> Result<[u8; 10], Trouble> {
    let mut bytes = [0; 10];
    let failed = |error| Trouble::Away(format!("the system gives no random numbers: {error}."));
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
