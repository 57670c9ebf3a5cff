//! Sign-in of the claude program: sends the user a link if the program has no account, and on
//! `/login`.

use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Answer, Event};
use domain::failure::Failure;
use domain::signing_in::SignIn;
use engine::desk::{self, Desk};
use engine::ports::{Clock, Outbox};
use jiff::{SignedDuration, Timestamp};
use models::claude::{Claude, Company, SigningIn, Told};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::settings::{Brain, Settings};

/// Delay after a start, because other work is more urgent.
const LOOKS_AFTER: Duration = Duration::from_secs(1);
/// The lifetime of a link.
const WORKS: SignedDuration = SignedDuration::from_mins(30);
/// The least time between two links that are sent unasked, in case of repeated restarts.
const TOLD_AGAIN_AFTER: SignedDuration = SignedDuration::from_hours(1);
/// Time that a command with a code waits for the result.
const SOON: Duration = Duration::from_secs(10);
/// The answer to a code without an open link.
const NOBODY_WAITS: &str = "no link of mine waits for a code. `/login` gives you one.";
/// The answer to a wrong code.
const NOT_TAKEN: &str = "claude does not take that code. copy it whole, and paste it again.";
/// The key under which the time of the last unasked link is stored.
const TOLD: &str = "sign_in_told";

/// Signs the claude program in.
pub struct Signer {
    desk: Desk,
    outbox: Arc<dyn Outbox>,
    clock: Arc<dyn Clock>,
    claude: Claude,
    /// The variable with the program's API key, if there is one.
    key: Option<String>,
}

/// A link that is still valid.
struct Open {
    signing: SigningIn,
    /// The instructions for the user.
    words: String,
    ends: Instant,
}

/// Adds a sign-in channel to the handle, if the claude program answers.
pub fn offered(desk: Desk, settings: &Settings) -> (Desk, Option<mpsc::Receiver<desk::SigningIn>>) {
    match &settings.brain {
        Brain::Claude(_) => {
            let (desk, sign_ins) = desk.with_sign_ins();
            (desk, Some(sign_ins))
        }
        Brain::Offline | Brain::Keyless(_) | Brain::Anthropic(_) | Brain::OpenAi(_) => (desk, None),
    }
}

/// Handles sign-in requests until the channel is closed.
pub async fn attend(signer: Signer, mut asked: mpsc::Receiver<desk::SigningIn>) {
    let mut open = None;
    let mut looks = Some(Instant::now() + LOOKS_AFTER);
    loop {
        let look = async {
            match looks {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            asked = asked.recv() => match asked {
                Some(desk::SigningIn { wanted, reply }) => {
                    let answer = signer.answer(wanted, &mut open).await;
                    // The requester may be gone.
                    let _ = reply.send(answer);
                }
                None => return,
            },
            told = next(&mut open) => {
                if let Some(Ok(words) | Err(words)) = signer.heard(told, &mut open).await {
                    signer.tell(words).await;
                }
            }
            () = look => {
                looks = None;
                signer.look(&mut open).await;
            }
        }
    }
}

/// Returns the next event of the open link; `None` when it expires.
async fn next(open: &mut Option<Open>) -> Option<Told> {
    match open {
        Some(Open { signing, ends, .. }) => tokio::time::timeout_at(*ends, signing.next()).await.ok(),
        None => std::future::pending().await,
    }
}

impl Signer {
    /// Creates it if the claude program is the configured model.
    pub fn new(
        settings: &Settings,
        desk: Desk,
        (outbox, clock): (Arc<dyn Outbox>, Arc<dyn Clock>),
    ) -> Option<Self> {
        let Brain::Claude(settings) = &settings.brain else { return None };
        let claude = Claude::new(settings.clone(), Company::default())
            .inspect_err(|error| tracing::warn!(%error, "The claude program cannot be signed in from here."));
        let key = settings.environment.key().map(str::to_owned);
        Some(Self { desk, outbox, clock, claude: claude.ok()?, key })
    }

    /// SU-3: Sends a link if the program has no account.
    async fn look(&self, open: &mut Option<Open>) {
        if self.key.is_some() || open.is_some() {
            return;
        }
        match self.claude.is_signed_in().await {
            Ok(Some(false)) if !self.was_told().await => {}
            Ok(_) => return,
            Err(failure) => {
                tracing::warn!(%failure, "Whether the claude program is signed in could not be looked up.");
                return;
            }
        }
        self.keep(self.clock.now().timestamp().to_string()).await;
        match self.begin(open).await {
            Ok(words) => self.tell(format!("claude is not signed in. {words}")).await,
            Err(failure) => self.tell(format!("claude is not signed in. {}", linkless(&failure))).await,
        }
    }

    async fn answer(&self, wanted: SignIn, open: &mut Option<Open>) -> Answer {
        if let Some(key) = &self.key {
            return Answer::Refused(format!(
                "claude speaks with the key in {key}. take that away to sign in instead."
            ));
        }
        let begun = match (wanted, &mut *open) {
            (SignIn::With(code), Some(waits)) => {
                waits.signing.bring(code).await;
                return self.brought(open).await;
            }
            (SignIn::With(_), None) => return Answer::Refused(NOBODY_WAITS.to_owned()),
            (SignIn::Link | SignIn::Again, Some(open)) => Ok(open.words.clone()),
            (SignIn::Link, None) if self.claude.is_signed_in().await == Ok(Some(true)) => {
                return Answer::Told("claude is signed in. `/login again` signs it in anew.".to_owned());
            }
            (SignIn::Link | SignIn::Again, None) => self.begin(open).await,
        };
        begun.map_or_else(|failure| Answer::Refused(linkless(&failure)), Answer::Told)
    }

    /// Creates a link and returns the instructions.
    async fn begin(&self, open: &mut Option<Open>) -> Result<String, Failure> {
        let signing = self.claude.sign_in().await?;
        let until = self.clock.now().saturating_add(WORKS);
        let words = format!(
            "open this, sign in, and paste the code that you get here:\n{}\nit works until {}; `/login` gives a new one \
             then.",
            signing.address(),
            until.strftime("%H:%M")
        );
        let ends = Instant::now() + WORKS.unsigned_abs();
        *open = Some(Open { signing, words: words.clone(), ends });
        Ok(words)
    }

    /// Waits a short time for the result of a code, to return it as the answer.
    async fn brought(&self, open: &mut Option<Open>) -> Answer {
        let Ok(told) = tokio::time::timeout(SOON, next(open)).await else {
            return Answer::Told("i brought it to claude, and tell you what it says.".to_owned());
        };
        match self.heard(told, open).await {
            Some(Ok(words)) => Answer::Told(words),
            Some(Err(why)) => Answer::Refused(why),
            None => Answer::Refused(NOBODY_WAITS.to_owned()),
        }
    }

    /// Returns the message about an event: success, or the reason of a failure. `None` if the link
    /// expired, because its message contained the time.
    async fn heard(&self, told: Option<Told>, open: &mut Option<Open>) -> Option<Result<String, String>> {
        let ended = match told {
            Some(Told::Refused) => return Some(Err(NOT_TAKEN.to_owned())),
            Some(Told::Over(ended)) => Some(ended),
            None => None,
        };
        if let Some(open) = open.take() {
            open.signing.end().await;
        }
        match ended? {
            Err(why) => Some(Err(unsigned(&why))),
            Ok(()) if self.claude.is_signed_in().await == Ok(Some(false)) => {
                Some(Err(unsigned("it says that it is not")))
            }
            Ok(()) => {
                self.signed_in().await;
                Some(Ok("claude is signed in.".to_owned()))
            }
        }
    }

    /// Retries what waits for the sign-in.
    async fn signed_in(&self) {
        self.keep(String::new()).await;
        self.desk.tell(Event::KeyRenewed).await;
    }

    /// Returns whether a link was sent recently.
    async fn was_told(&self) -> bool {
        let told = self.outbox.keepsake(TOLD).await.ok().flatten();
        let told = told.and_then(|told| told.parse::<Timestamp>().ok());
        told.is_some_and(|told| self.clock.now().timestamp().duration_since(told).abs() < TOLD_AGAIN_AFTER)
    }

    async fn keep(&self, told: String) {
        if let Err(error) = self.outbox.keep(TOLD, told).await {
            tracing::warn!(%error, "The next start sends a link again.");
        }
    }

    async fn tell(&self, text: String) {
        self.desk.tell(Event::Told(text)).await;
    }
}

fn linkless(failure: &Failure) -> String {
    let why = if let Failure::Unreachable(why) | Failure::Broken(why) = failure {
        why.clone()
    } else {
        failure.to_string()
    };
    format!("there is no link to sign in with: {why}. `ollim-bot auth login` in a terminal may tell more.")
}

fn unsigned(why: &str) -> String {
    match why {
        "" => "claude was not signed in. `/login` gives you a new link.".to_owned(),
        why => format!("claude was not signed in: {why}. `/login` gives you a new link."),
    }
}
