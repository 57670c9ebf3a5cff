//! Counts wrong secrets and pairing codes by their source address. An address with too many
//! failures in a minute is refused; other addresses, and right secrets that cannot be guessed, are
//! not affected.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::Clock;
use tokio::sync::watch;

/// F4: failures accepted from one address per minute.
pub const BAD_A_MINUTE: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// Minimum interval between two notices to the user.
const TELL_AGAIN: Duration = Duration::from_secs(60 * 60);
/// Maximum number of remembered addresses. Beyond that, the first in order is forgotten.
const ADDRESSES: usize = 1_000;

/// Failed attempts per address within the last minute.
pub struct Attempts {
    clock: Arc<dyn Clock>,
    bad: watch::Sender<BTreeMap<IpAddr, VecDeque<Duration>>>,
    told: watch::Sender<Option<Duration>>,
}

impl Attempts {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, bad: watch::Sender::new(BTreeMap::new()), told: watch::Sender::new(None) }
    }

    /// Returns true if `address` had too many failures within the last minute.
    pub fn is_over(&self, address: IpAddr) -> bool {
        let now = self.clock.boot();
        let bad = self.bad.borrow();
        let times = bad.get(&normal(address));
        times.is_some_and(|times| times.iter().filter(|at| recent(**at, now)).count() >= BAD_A_MINUTE)
    }

    pub fn failed(&self, address: IpAddr) {
        let now = self.clock.boot();
        self.bad.send_modify(|bad| {
            bad.retain(|_, times| times.back().is_some_and(|newest| recent(*newest, now)));
            if bad.len() >= ADDRESSES {
                bad.pop_first();
            }
            let times = bad.entry(normal(address)).or_default();
            times.push_back(now);
            if times.len() > BAD_A_MINUTE {
                times.pop_front();
            }
        });
    }

    /// Returns true, at most once per interval, if the user is to be notified about `address`.
    pub fn is_news(&self, address: IpAddr) -> bool {
        let now = self.clock.boot();
        let is_over = self.is_over(address);
        self.told.send_if_modified(|told| {
            let news = is_over && told.is_none_or(|told| now.saturating_sub(told) >= TELL_AGAIN);
            if news {
                *told = Some(now);
            }
            news
        })
    }
}

/// Maps IPv4-mapped addresses to IPv4 and reduces an IPv6 address to its /64 network, because one
/// machine usually owns all of it.
fn normal(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::from((u128::from(address) >> 64 << 64).to_be_bytes()),
        canonical @ IpAddr::V4(_) => canonical,
    }
}

fn recent(at: Duration, now: Duration) -> bool {
    now.saturating_sub(at) < MINUTE
}

#[cfg(test)]
mod tests {
    use jiff::Zoned;

    use super::*;

    struct Hands(watch::Sender<Duration>);

    impl Clock for Hands {
        fn now(&self) -> Zoned {
            Zoned::default()
        }

        fn boot(&self) -> Duration {
            *self.0.borrow()
        }
    }

    /// F4: failures are counted per canonical address and forgotten after a minute.
    #[test]
    fn whoever_fails_too_often_is_not_heard_for_a_minute() {
        let clock = Arc::new(Hands(watch::Sender::new(Duration::from_secs(500))));
        let attempts = Attempts::new(clock.clone());
        let [plain, mapped]: [IpAddr; 2] =
            ["192.0.2.7", "::ffff:192.0.2.7"].map(|text| text.parse().unwrap());
        for number in 0..BAD_A_MINUTE {
            assert!(!attempts.is_over(plain) && !attempts.is_over(mapped), "{number}");
            attempts.failed(if number % 2 == 0 { plain } else { mapped });
        }
        assert!(attempts.is_over(plain) && attempts.is_over(mapped));
        assert!(!attempts.is_over("192.0.2.8".parse().unwrap()));
        clock.0.send_modify(|now| *now += MINUTE);
        assert!(!attempts.is_over(plain));

        let [one, other]: [IpAddr; 2] = ["2001:db8::1", "2001:db8::ffff:1"].map(|text| text.parse().unwrap());
        (0..BAD_A_MINUTE).for_each(|_| attempts.failed(one));
        assert!(attempts.is_over(other));
    }

    /// F4: the number of remembered addresses is bounded.
    #[test]
    fn no_crowd_of_addresses_fills_the_memory() {
        let clock = Arc::new(Hands(watch::Sender::new(Duration::ZERO)));
        let attempts = Attempts::new(clock);
        for number in 0..5_000_u32 {
            attempts.failed(IpAddr::from(number.to_be_bytes()));
        }
        assert!(attempts.bad.borrow().len() <= ADDRESSES);
    }
}
