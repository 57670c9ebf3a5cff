//! One-time codes that pair a browser.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::Clock;
use tokio::sync::watch;

use super::secret::{Digest, NoRandomness, Secret};

/// How long a code is valid.
pub const CODE_LASTS: Duration = Duration::from_secs(10 * 60);
/// Maximum number of valid codes; the oldest is dropped for a new one.
const CODES: usize = 16;

/// The valid codes.
pub struct Pairing {
    clock: Arc<dyn Clock>,
    codes: watch::Sender<VecDeque<Code>>,
}

struct Code {
    digest: Digest,
    minted: Duration,
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
    pub fn mint(&self) -> Result<Secret, NoRandomness> {
        let secret = Secret::mint_code()?;
        let code = Code { digest: secret.digest(), minted: self.clock.boot() };
        self.codes.send_modify(|codes| {
            codes.truncate(CODES - 1);
            codes.push_front(code);
        });
        Ok(secret)
    }

    /// Creates a link that pairs the browser that opens it. The code is in the fragment, which
    /// browsers do not send.
    pub fn link(&self, page: &str) -> Result<String, NoRandomness> {
        let code = self.mint()?;
        Ok(format!("{}/#k={}", page.trim_end_matches('/'), code.reveal()))
    }

    /// Redeems `code`, which cannot be used again.
    pub fn redeem(&self, code: &str) -> Result<(), BadCode> {
        let now = self.clock.boot();
        let digest = Digest::of(code);
        let used = self.codes.send_if_modified(|codes| {
            let fresh = |code: &Code| now.saturating_sub(code.minted) < CODE_LASTS;
            let before = codes.iter().filter(|code| fresh(code)).count();
            codes.retain(|code| fresh(code) && !code.digest.matches(&digest));
            codes.len() < before
        });
        if used { Ok(()) } else { Err(BadCode) }
    }
}

/// The code is unknown, used or expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this link was already used or is older than ten minutes. run `ollim-bot open` and use the link it prints."
)]
pub struct BadCode;

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Zoned;

    struct Hands(watch::Sender<Duration>);

    impl Clock for Hands {
        fn now(&self) -> Zoned {
            Zoned::default()
        }
        fn boot(&self) -> Duration {
            *self.0.borrow()
        }
    }

    fn clock() -> Arc<Hands> {
        Arc::new(Hands(watch::Sender::new(Duration::from_secs(1000))))
    }

    #[test]
    fn a_code_works_once() {
        let pairing = Pairing::new(clock());
        let code = pairing.mint().unwrap();
        assert_eq!(pairing.redeem("wrong"), Err(BadCode));
        assert_eq!(pairing.redeem(code.reveal()), Ok(()));
        assert_eq!(pairing.redeem(code.reveal()), Err(BadCode));
    }

    #[test]
    fn a_code_is_too_old_after_ten_minutes() {
        let clock = clock();
        let pairing = Pairing::new(clock.clone());
        let early = pairing.mint().unwrap();
        let late = pairing.mint().unwrap();
        clock.0.send_modify(|now| *now += CODE_LASTS - Duration::from_secs(1));
        assert_eq!(pairing.redeem(early.reveal()), Ok(()));
        clock.0.send_modify(|now| *now += Duration::from_secs(1));
        assert_eq!(pairing.redeem(late.reveal()), Err(BadCode));
    }

    #[test]
    fn an_expired_code_does_not_vouch_for_a_wrong_one() {
        let clock = clock();
        let pairing = Pairing::new(clock.clone());
        pairing.mint().unwrap();
        clock.0.send_modify(|now| *now += CODE_LASTS);
        assert_eq!(pairing.redeem("wrong"), Err(BadCode));
    }

    #[test]
    fn a_link_carries_its_code_where_no_server_sees_it() {
        let link = Pairing::new(clock()).link("http://127.0.0.1:7645/").unwrap();
        let (page, code) = link.split_once("/#k=").unwrap();
        assert_eq!((page, code.len()), ("http://127.0.0.1:7645", 32));
    }
}
