//! IMAP tests with a real Dovecot, and with servers that hang, flood or send garbage.
#![expect(clippy::unwrap_used, reason = "test helpers stop at once with a message")]

mod dovecot;
mod hostile;
mod messages;
