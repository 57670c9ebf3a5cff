//! How the human lets us into an account without telling us the password: they say yes in a browser, and the
//! browser brings a code back to this machine.
//!
//! What only we know goes along twice: `state` shows that the answer is to our question, and the proof that
//! nobody but who asked can turn the code into a token.

mod door;
mod proof;
mod redirect;

pub use door::Door;
pub use proof::{Proof, nonce};
pub use redirect::{Answer, Redirect, looks_like};
