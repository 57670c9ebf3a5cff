//! Google: one account for tasks, calendar and mail, with a token that the user granted.

mod access_token;
mod api_error;
mod api_request;
mod calendar;
mod endpoints;
mod files;
mod gmail;
mod responses;
mod services;
mod sign_in;
mod tasks;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::Clock;
use reqwest::Client;

use crate::AccountError;

pub use access_token::not_granted;
pub use endpoints::{Endpoints, InvalidFakeUrl};
pub use files::{ConnectionState, GoogleFile, GoogleFileStore, Revocation};
pub use services::{Service, join_names};
pub use sign_in::{PasteInput, PasteOutcome, SIGN_IN_TIMEOUT, SignIn, SignInOutcome, TEST_USER_HINT};

/// The connect timeout.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The user's Google account.
#[derive(Clone)]
pub struct Google {
    client: Client,
    endpoints: Endpoints,
    store: Arc<dyn GoogleFileStore>,
    clock: Arc<dyn Clock>,
}

impl Google {
    /// Creates the account whose files are in `store`, without a request.
    pub fn new(
        endpoints: Endpoints,
        store: Arc<dyn GoogleFileStore>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, AccountError> {
        let client = ::wire::build_client(&endpoints.token, |builder| {
            builder.connect_timeout(CONNECT_TIMEOUT).timeout(REQUEST_TIMEOUT)
        });
        Ok(Self { client: client.map_err(AccountError::Unavailable)?, endpoints, store, clock })
    }
}

impl fmt::Debug for Google {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Google").field("addresses", &self.endpoints).finish_non_exhaustive()
    }
}
