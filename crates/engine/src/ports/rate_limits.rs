//! The rate limits stated in the head of a vendor's response.

use std::time::Duration;

/// The head of a vendor's response, as far as it says whether more calls are welcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseHead {
    /// Whether the vendor accepted the request.
    pub accepted: bool,
    /// The rate limits that it states. Many servers state none.
    pub limits: Vec<RateLimit>,
}

/// One rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// The unit that it counts.
    pub unit: RateLimitUnit,
    /// The most units at once.
    pub limit: u64,
    /// The units that are left.
    pub remaining: u64,
    /// The time until the whole limit is available again.
    pub resets_in: Duration,
}

/// The unit of a rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimitUnit {
    Requests,
    /// Tokens that are read, or that are read and written.
    Tokens,
    /// Tokens that are written. Their limits are much smaller.
    OutputTokens,
}
