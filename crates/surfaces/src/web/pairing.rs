//! One-time codes that pair a browser.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::Clock;
use tokio::sync::watch;

use super::secret::{Digest, NoRandomness, Secret};

/// How long a code is valid.
pub const CODE_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Maximum number of valid codes; the oldest is dropped for a new one.
const MAX_CODES: usize = 16;

/// The valid codes.
pub struct Pairing {
    clock: Arc<dyn Clock>,
    codes: watch::Sender<VecDeque<Code>>,
}

struct Code {
    digest: Digest,
    created_at: Duration,
}

impl fmt::Debug for Pairing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pairing(..)")
    }
}

impl Pairing {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, codes: watch::Sender::new(VecDeque::new()) }
    }

    /// Creates a code that works once within ten minutes.
    pub fn create_code(&self) -> Result<Secret, NoRandomness> {
        let secret = Secret::generate_code()?;
        let code = Code { digest: secret.digest(), created_at: self.clock.since_boot() };
        self.codes.send_modify(|codes| {
            codes.truncate(MAX_CODES - 1);
            codes.push_front(code);
        });
        Ok(secret)
    }

    /// Creates a link that pairs the browser that opens it. The code is in the fragment, which
    /// browsers do not send.
    pub fn create_link(&self, page: &str) -> Result<String, NoRandomness> {
        let code = self.create_code()?;
        Ok(format!("{}/#k={}", page.trim_end_matches('/'), code.reveal()))
    }

    /// Redeems `code`, which cannot be used again.
    pub fn redeem(&self, code: &str) -> Result<(), InvalidCode> {
        let now = self.clock.since_boot();
        let digest = Digest::of(code);
        let used = self.codes.send_if_modified(|codes| {
            let fresh = |code: &Code| now.saturating_sub(code.created_at) < CODE_LIFETIME;
            let before = codes.iter().filter(|code| fresh(code)).count();
            codes.retain(|code| fresh(code) && !code.digest.matches(&digest));
            codes.len() < before
        });
        if used { Ok(()) } else { Err(InvalidCode) }
    }
}

/// The code is unknown, used or expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this link was already used or is older than ten minutes. run `ollim-bot open` and use the link it prints."
)]
pub struct InvalidCode;

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Zoned;

    struct FakeClock(watch::Sender<Duration>);

    impl Clock for FakeClock {
        fn now(&self) -> Zoned {
            Zoned::default()
        }
        fn since_boot(&self) -> Duration {
            *self.0.borrow()
        }
    }

    fn clock() -> Arc<FakeClock> {
        Arc::new(FakeClock(watch::Sender::new(Duration::from_secs(1000))))
    }

    #[test]
    fn a_code_works_once() {
        let pairing = Pairing::new(clock());
        let code = pairing.create_code().unwrap();
        assert_eq!(pairing.redeem("wrong"), Err(InvalidCode));
        assert_eq!(pairing.redeem(code.reveal()), Ok(()));
        assert_eq!(pairing.redeem(code.reveal()), Err(InvalidCode));
    }

    #[test]
    fn a_code_expires_after_ten_minutes() {
        let clock = clock();
        let pairing = Pairing::new(clock.clone());
        let early = pairing.create_code().unwrap();
        let late = pairing.create_code().unwrap();
        clock.0.send_modify(|now| *now += CODE_LIFETIME - Duration::from_secs(1));
        assert_eq!(pairing.redeem(early.reveal()), Ok(()));
        clock.0.send_modify(|now| *now += Duration::from_secs(1));
        assert_eq!(pairing.redeem(late.reveal()), Err(InvalidCode));
    }

    #[test]
    fn a_wrong_code_is_refused_when_another_expired() {
        let clock = clock();
        let pairing = Pairing::new(clock.clone());
        pairing.create_code().unwrap();
        clock.0.send_modify(|now| *now += CODE_LIFETIME);
        assert_eq!(pairing.redeem("wrong"), Err(InvalidCode));
    }

    #[test]
    fn a_link_contains_its_code_in_the_fragment() {
        let link = Pairing::new(clock()).create_link("http://127.0.0.1:7645/").unwrap();
        let (page, code) = link.split_once("/#k=").unwrap();
        assert_eq!((page, code.len()), ("http://127.0.0.1:7645", 32));
    }
}
