//! IMAP: a real Dovecot, and servers that hang, flood or talk nonsense.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop at once, with their reason")]

mod dovecot;
mod hostile;
mod letters;
