//! The parts of OAuth 2 that every account shares: a callback listener on loopback, PKCE (RFC 7636) and the reading of
//! the authorization response, including its issuer (RFC 9207).
//!
//! The caller builds the authorization URL, shows it to the user, waits on [`Callback`], and exchanges the code itself.

mod callback;
mod pkce;
mod redirect;

pub use callback::{Callback, PasteInput, PasteOutcome};
pub use pkce::{Pkce, random_token};
pub use redirect::{AuthorizationResponse, RedirectTarget, looks_like_redirect};
