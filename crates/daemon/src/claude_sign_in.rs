//! Sign-in of the claude program: sends the user a link if the program has no account, and on
//! `/login`.

use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Answer, Event};
use domain::failure::Failure;
use domain::sign_in::SignIn;
use engine::handle::{self, AssistantHandle};
use engine::ports::{Clock, Outbox};
use jiff::{SignedDuration, Timestamp};
use models::claude::{Callbacks, Claude, SignInEvent, SignInProcess};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::settings::{ModelConfig, Settings};

/// Delay after a start, because other work is more urgent.
const CHECK_DELAY: Duration = Duration::from_secs(1);
/// The lifetime of a link.
const LINK_LIFETIME: SignedDuration = SignedDuration::from_mins(30);
/// The least time between two links that are sent unasked, in case of repeated restarts.
const RESEND_INTERVAL: SignedDuration = SignedDuration::from_hours(1);
/// Time that a command with a code waits for the result.
const RESULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The answer to a code without an open link.
const NO_OPEN_LINK: &str = "no link of mine waits for a code. `/login` gives you one.";
/// The answer to a wrong code.
const WRONG_CODE: &str = "claude does not take that code. copy it whole, and paste it again.";
/// The key under which the time of the last unasked link is stored.
const SENT_KEY: &str = "sign_in_told";

/// Signs the claude program in.
pub struct ClaudeSignIn {
    assistant: AssistantHandle,
    outbox: Arc<dyn Outbox>,
    clock: Arc<dyn Clock>,
    claude: Claude,
    /// The variable with the program's API key, if there is one.
    key: Option<String>,
}

/// A link that is still valid.
struct PendingLink {
    signing: SignInProcess,
    /// The instructions for the user.
    instructions: String,
    expires: Instant,
}

/// Adds a sign-in channel to the handle, if the claude program answers.
pub fn with_sign_in_channel(
    desk: AssistantHandle,
    settings: &Settings,
) -> (AssistantHandle, Option<mpsc::Receiver<handle::SignInRequest>>) {
    match &settings.model {
        ModelConfig::Claude(_) => {
            let (desk, sign_ins) = desk.with_sign_in_requests();
            (desk, Some(sign_ins))
        }
        ModelConfig::Offline
        | ModelConfig::MissingKey(_)
        | ModelConfig::Anthropic(_)
        | ModelConfig::OpenAi(_) => (desk, None),
    }
}

/// Handles sign-in requests until the channel is closed.
pub async fn run(signer: ClaudeSignIn, mut asked: mpsc::Receiver<handle::SignInRequest>) {
    let mut open = None;
    let mut looks = Some(Instant::now() + CHECK_DELAY);
    loop {
        let look = async {
            match looks {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            asked = asked.recv() => match asked {
                Some(handle::SignInRequest { action: wanted, reply }) => {
                    let answer = signer.answer(wanted, &mut open).await;
                    // The requester may be gone.
                    let _ = reply.send(answer);
                }
                None => return,
            },
            told = next_event(&mut open) => {
                if let Some(Ok(words) | Err(words)) = signer.handle_event(told, &mut open).await {
                    signer.announce(words).await;
                }
            }
            () = look => {
                looks = None;
                signer.check_at_start(&mut open).await;
            }
        }
    }
}

/// Returns the next event of the open link; `None` when it expires.
async fn next_event(open: &mut Option<PendingLink>) -> Option<SignInEvent> {
    match open {
        Some(PendingLink { signing, expires: ends, .. }) => {
            tokio::time::timeout_at(*ends, signing.next_event()).await.ok()
        }
        None => std::future::pending().await,
    }
}

impl ClaudeSignIn {
    /// Creates it if the claude program is the configured model.
    pub fn new(
        settings: &Settings,
        desk: AssistantHandle,
        (outbox, clock): (Arc<dyn Outbox>, Arc<dyn Clock>),
    ) -> Option<Self> {
        let ModelConfig::Claude(settings) = &settings.model else { return None };
        let claude = Claude::new(settings.clone(), Callbacks::default())
            .inspect_err(|error| tracing::warn!(%error, "The claude program cannot be signed in from here."));
        let key = settings.environment.secret_name().map(str::to_owned);
        Some(Self { assistant: desk, outbox, clock, claude: claude.ok()?, key })
    }

    /// SU-3: Sends a link if the program has no account.
    async fn check_at_start(&self, open: &mut Option<PendingLink>) {
        if self.key.is_some() || open.is_some() {
            return;
        }
        match self.claude.is_signed_in().await {
            Ok(Some(false)) if !self.was_sent_recently().await => {}
            Ok(_) => return,
            Err(failure) => {
                tracing::warn!(%failure, "Whether the claude program is signed in could not be looked up.");
                return;
            }
        }
        self.store_sent_time(self.clock.now().timestamp().to_string()).await;
        match self.create_link(open).await {
            Ok(words) => self.announce(format!("claude is not signed in. {words}")).await,
            Err(failure) => {
                self.announce(format!("claude is not signed in. {}", no_link_text(&failure))).await
            }
        }
    }

    async fn answer(&self, wanted: SignIn, open: &mut Option<PendingLink>) -> Answer {
        if let Some(key) = &self.key {
            return Answer::Refused(format!(
                "claude speaks with the key in {key}. take that away to sign in instead."
            ));
        }
        let begun = match (wanted, &mut *open) {
            (SignIn::With(code), Some(waits)) => {
                waits.signing.send_code(code).await;
                return self.wait_for_result(open).await;
            }
            (SignIn::With(_), None) => return Answer::Refused(NO_OPEN_LINK.to_owned()),
            (SignIn::Link | SignIn::Again, Some(open)) => Ok(open.instructions.clone()),
            (SignIn::Link, None) if self.claude.is_signed_in().await == Ok(Some(true)) => {
                return Answer::Text("claude is signed in. `/login again` signs it in anew.".to_owned());
            }
            (SignIn::Link | SignIn::Again, None) => self.create_link(open).await,
        };
        begun.map_or_else(|failure| Answer::Refused(no_link_text(&failure)), Answer::Text)
    }

    /// Creates a link and returns the instructions.
    async fn create_link(&self, open: &mut Option<PendingLink>) -> Result<String, Failure> {
        let signing = self.claude.sign_in().await?;
        let until = self.clock.now().saturating_add(LINK_LIFETIME);
        let words = format!(
            "open this, sign in, and paste the code that you get here:\n{}\nit works until {}; `/login` gives a new one \
             then.",
            signing.address(),
            until.strftime("%H:%M")
        );
        let ends = Instant::now() + LINK_LIFETIME.unsigned_abs();
        *open = Some(PendingLink { signing, instructions: words.clone(), expires: ends });
        Ok(words)
    }

    /// Waits a short time for the result of a code, to return it as the answer.
    async fn wait_for_result(&self, open: &mut Option<PendingLink>) -> Answer {
        let Ok(told) = tokio::time::timeout(RESULT_TIMEOUT, next_event(open)).await else {
            return Answer::Text("i brought it to claude, and tell you what it says.".to_owned());
        };
        match self.handle_event(told, open).await {
            Some(Ok(words)) => Answer::Text(words),
            Some(Err(why)) => Answer::Refused(why),
            None => Answer::Refused(NO_OPEN_LINK.to_owned()),
        }
    }

    /// Returns the message about an event: success, or the reason of a failure. `None` if the link
    /// expired, because its message contained the time.
    async fn handle_event(
        &self,
        told: Option<SignInEvent>,
        open: &mut Option<PendingLink>,
    ) -> Option<Result<String, String>> {
        let ended = match told {
            Some(SignInEvent::CodeRejected) => return Some(Err(WRONG_CODE.to_owned())),
            Some(SignInEvent::Ended(ended)) => Some(ended),
            None => None,
        };
        if let Some(open) = open.take() {
            open.signing.stop().await;
        }
        match ended? {
            Err(why) => Some(Err(failure_text(&why))),
            Ok(()) if self.claude.is_signed_in().await == Ok(Some(false)) => {
                Some(Err(failure_text("it says that it is not")))
            }
            Ok(()) => {
                self.on_signed_in().await;
                Some(Ok("claude is signed in.".to_owned()))
            }
        }
    }

    /// Retries what waits for the sign-in.
    async fn on_signed_in(&self) {
        self.store_sent_time(String::new()).await;
        self.assistant.send_event(Event::KeyRenewed).await;
    }

    /// Returns whether a link was sent recently.
    async fn was_sent_recently(&self) -> bool {
        let told = self.outbox.kv_get(SENT_KEY).await.ok().flatten();
        let told = told.and_then(|told| told.parse::<Timestamp>().ok());
        told.is_some_and(|told| self.clock.now().timestamp().duration_since(told).abs() < RESEND_INTERVAL)
    }

    async fn store_sent_time(&self, told: String) {
        if let Err(error) = self.outbox.kv_set(SENT_KEY, told).await {
            tracing::warn!(%error, "The next start sends a link again.");
        }
    }

    async fn announce(&self, text: String) {
        self.assistant.send_event(Event::Announced(text)).await;
    }
}

fn no_link_text(failure: &Failure) -> String {
    let why = if let Failure::Unreachable(why) | Failure::VendorError(why) = failure {
        why.clone()
    } else {
        failure.to_string()
    };
    format!("there is no link to sign in with: {why}. `ollim-bot auth login` in a terminal may tell more.")
}

fn failure_text(why: &str) -> String {
    match why {
        "" => "claude was not signed in. `/login` gives you a new link.".to_owned(),
        why => format!("claude was not signed in: {why}. `/login` gives you a new link."),
    }
}
