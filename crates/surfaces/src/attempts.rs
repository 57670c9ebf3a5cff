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
pub const MAX_FAILURES_PER_MINUTE: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// Minimum interval between two notices to the user.
const NOTICE_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Maximum number of remembered addresses. Beyond that, the one whose last failure is oldest is
/// forgotten, so that failures of many other addresses do not unblock an address.
const MAX_ADDRESSES: usize = 1_000;

/// Failed attempts per address within the last minute.
pub struct FailedAttempts {
    clock: Arc<dyn Clock>,
    failures: watch::Sender<BTreeMap<IpAddr, VecDeque<Duration>>>,
    notified_at: watch::Sender<Option<Duration>>,
}

impl FailedAttempts {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, failures: watch::Sender::new(BTreeMap::new()), notified_at: watch::Sender::new(None) }
    }

    /// Returns true if `address` had too many failures within the last minute.
    pub fn is_blocked(&self, address: IpAddr) -> bool {
        let now = self.clock.since_boot();
        let bad = self.failures.borrow();
        let times = bad.get(&canonical(address));
        times.is_some_and(|times| {
            times.iter().filter(|at| is_recent(**at, now)).count() >= MAX_FAILURES_PER_MINUTE
        })
    }

    pub fn record_failure(&self, address: IpAddr) {
        let now = self.clock.since_boot();
        let address = canonical(address);
        self.failures.send_modify(|bad| {
            bad.retain(|_, times| times.back().is_some_and(|newest| is_recent(*newest, now)));
            if bad.len() >= MAX_ADDRESSES && !bad.contains_key(&address) {
                let oldest = bad.iter().min_by_key(|(_, times)| times.back()).map(|(address, _)| *address);
                bad.retain(|address, _| Some(*address) != oldest);
            }
            let times = bad.entry(address).or_default();
            times.push_back(now);
            if times.len() > MAX_FAILURES_PER_MINUTE {
                times.pop_front();
            }
        });
    }

    /// Returns true, at most once per interval, if the user is to be notified about `address`.
    pub fn should_notify(&self, address: IpAddr) -> bool {
        let now = self.clock.since_boot();
        let is_over = self.is_blocked(address);
        self.notified_at.send_if_modified(|notified_at| {
            let notify = is_over
                && notified_at.is_none_or(|notified_at| now.saturating_sub(notified_at) >= NOTICE_INTERVAL);
            if notify {
                *notified_at = Some(now);
            }
            notify
        })
    }
}

/// Maps IPv4-mapped addresses to IPv4 and reduces an IPv6 address to its /64 network, because one
/// machine usually owns all of it.
fn canonical(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::from((u128::from(address) >> 64 << 64).to_be_bytes()),
        canonical @ IpAddr::V4(_) => canonical,
    }
}

fn is_recent(at: Duration, now: Duration) -> bool {
    now.saturating_sub(at) < MINUTE
}

#[cfg(test)]
mod tests {
    use jiff::Zoned;

    use super::*;

    struct FakeClock(watch::Sender<Duration>);

    impl Clock for FakeClock {
        fn now(&self) -> Zoned {
            Zoned::default()
        }

        fn since_boot(&self) -> Duration {
            *self.0.borrow()
        }
    }

    /// Failures of many other addresses do not make a blocked address forgotten.
    #[test]
    fn the_address_with_the_oldest_failure_is_forgotten_first() {
        let clock = Arc::new(FakeClock(watch::Sender::new(Duration::from_secs(500))));
        let attempts = FailedAttempts::new(clock.clone());
        let other = |number: usize| IpAddr::from([10, 1, (number / 256) as u8, (number % 256) as u8]);
        for number in 1..MAX_ADDRESSES {
            attempts.record_failure(other(number));
        }
        clock.0.send_modify(|now| *now += Duration::from_secs(1));
        let lowest: IpAddr = "10.0.0.1".parse().unwrap();
        for _ in 0..MAX_FAILURES_PER_MINUTE {
            attempts.record_failure(lowest);
        }
        attempts.record_failure(other(MAX_ADDRESSES));
        assert!(attempts.is_blocked(lowest));
        assert_eq!(attempts.failures.borrow().len(), MAX_ADDRESSES);
    }

    /// F4: failures are counted per canonical address and forgotten after a minute.
    #[test]
    fn an_address_with_too_many_failures_is_blocked_for_a_minute() {
        let clock = Arc::new(FakeClock(watch::Sender::new(Duration::from_secs(500))));
        let attempts = FailedAttempts::new(clock.clone());
        let [plain, mapped]: [IpAddr; 2] =
            ["192.0.2.7", "::ffff:192.0.2.7"].map(|text| text.parse().unwrap());
        for number in 0..MAX_FAILURES_PER_MINUTE {
            assert!(!attempts.is_blocked(plain) && !attempts.is_blocked(mapped), "{number}");
            attempts.record_failure(if number % 2 == 0 { plain } else { mapped });
        }
        assert!(attempts.is_blocked(plain) && attempts.is_blocked(mapped));
        assert!(!attempts.is_blocked("192.0.2.8".parse().unwrap()));
        clock.0.send_modify(|now| *now += MINUTE);
        assert!(!attempts.is_blocked(plain));

        let [one, other]: [IpAddr; 2] = ["2001:db8::1", "2001:db8::ffff:1"].map(|text| text.parse().unwrap());
        (0..MAX_FAILURES_PER_MINUTE).for_each(|_| attempts.record_failure(one));
        assert!(attempts.is_blocked(other));
    }

    /// F4: the number of remembered addresses is bounded.
    #[test]
    fn the_number_of_remembered_addresses_is_bounded() {
        let clock = Arc::new(FakeClock(watch::Sender::new(Duration::ZERO)));
        let attempts = FailedAttempts::new(clock);
        for number in 0..5_000_u32 {
            attempts.record_failure(IpAddr::from(number.to_be_bytes()));
        }
        assert!(attempts.failures.borrow().len() <= MAX_ADDRESSES);
    }
}
