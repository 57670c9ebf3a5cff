//! Google: one account for tasks, calendar and mail, with a token that the user granted.

mod access;
mod addresses;
mod calendar;
mod call;
mod files;
mod gmail;
mod refusal;
mod services;
mod sign_in;
mod tasks;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::Clock;
use reqwest::Client;

use crate::Trouble;

pub use access::not_granted;
pub use addresses::{Addresses, BadBase};
pub use files::{Connection, File, Keep, Withdrawal};
pub use services::{Service, sentence};
pub use sign_in::{Ended, PATIENCE, Paste, Pasted, SignIn, TEST_USER};

/// The connect timeout.
const CONNECT: Duration = Duration::from_secs(10);
/// The timeout of a request.
const ANSWER: Duration = Duration::from_secs(30);

/// The user's Google account.
#[derive(Clone)]
pub struct Google {
    client: Client,
    addresses: Addresses,
    keep: Arc<dyn Keep>,
    clock: Arc<dyn Clock>,
}

impl Google {
    /// Creates the account whose files are in `store`, without a request.
    pub fn new(addresses: Addresses, keep: Arc<dyn Keep>, clock: Arc<dyn Clock>) -> Result<Self, Trouble> {
        let client =
            ::wire::client(&addresses.token, |builder| builder.connect_timeout(CONNECT).timeout(ANSWER));
        Ok(Self { client: client.map_err(Trouble::Away)?, addresses, keep, clock })
    }
}

impl fmt::Debug for Google {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Google").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}
