//! Checks the Discord account: whether the token works, who owns the application, and whether it
//! may message them.

use std::sync::Arc;
use std::time::Duration;

use surfaces::discord::message::OutgoingMessage;
use surfaces::discord::rest::{Application, DiscordError, Rest};
use surfaces::discord::transport::net::NetworkTransport;
use surfaces::discord::{Snowflake, Token};

use super::Finding;
use crate::settings::{Discord, Settings};

const FIX: &str = "ollim-bot setup discord";
/// Timeout for a request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The account as Discord describes it.
#[derive(Clone, Debug)]
pub struct DiscordAccount {
    pub application: Snowflake,
    /// The display name of the application.
    pub app: String,
    /// The display name of the user.
    pub owner: String,
    /// The direct-message channel with the user.
    pub channel: Snowflake,
}

/// An error about the account, as a sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscordCheckError {
    /// Discord cannot be reached; trying again later may help.
    #[error("{0}")]
    Unreachable(String),
    /// Discord or our own check rejected it.
    #[error("{0}")]
    Rejected(String),
}

impl From<String> for DiscordCheckError {
    fn from(why: String) -> Self {
        Self::Rejected(why)
    }
}

/// Checks the connection without sending a message.
pub async fn check(settings: &Settings) -> Finding {
    match &settings.integrations.discord {
        Discord::Off => Finding::absent("discord", "not connected").with_fix(FIX),
        Discord::Invalid(why) => Finding::wrong("discord", why.clone()).with_fix(FIX),
        Discord::On { token, base } => match find_account(base, token).await {
            Ok(DiscordAccount { app, owner, .. }) => Finding::fine(
                "discord",
                format!("the token works, app {app}, and i may write to you ({owner})"),
            ),
            // Setup cannot fix a network problem.
            Err(DiscordCheckError::Unreachable(why)) => Finding::wrong("discord", why),
            Err(DiscordCheckError::Rejected(why)) => Finding::wrong("discord", why).with_fix(FIX),
        },
    }
}

/// Finds the application, its owner and the direct-message channel.
pub async fn find_account(base: &str, token: &Token) -> Result<DiscordAccount, DiscordCheckError> {
    with_timeout(async {
        let rest = rest(base, token)?;
        let (application, names) =
            rest.application_with_names().await.map_err(|trouble| classify(&trouble, None))?;
        let Application { id, owner } = application;
        let owner = owner.id().ok_or_else(|| NO_OWNER.to_owned())?;
        let opened = rest.open_dm(owner).await;
        let channel = opened.map_err(|trouble| classify(&trouble, Some(id)))?;
        let app = names.application.map_or_else(|| id.to_string(), |name| format!("\"{name}\""));
        Ok(DiscordAccount {
            application: id,
            app,
            owner: names.owner.unwrap_or_else(|| owner.to_string()),
            channel,
        })
    })
    .await
}

/// Sends `words` to the user.
pub async fn send_message(
    base: &str,
    token: &Token,
    met: &DiscordAccount,
    words: &str,
) -> Result<(), DiscordCheckError> {
    with_timeout(async {
        let sent = rest(base, token)?.create_message(met.channel, &OutgoingMessage::text(words), None).await;
        sent.map(drop).map_err(|trouble| classify(&trouble, Some(met.application)))
    })
    .await
}

const NO_OWNER: &str = "discord does not say who owns the application, so i would listen to nobody. make one of your own at \
                      https://discord.com/developers/applications";

fn rest(base: &str, token: &Token) -> Result<Rest, String> {
    let wire = NetworkTransport::new(base, token).map_err(|wrong| format!("{wrong}."))?;
    Ok(Rest::new(Arc::new(wire)))
}

async fn with_timeout<T>(
    work: impl Future<Output = Result<T, DiscordCheckError>>,
) -> Result<T, DiscordCheckError> {
    match tokio::time::timeout(TIMEOUT, work).await {
        Ok(done) => done,
        Err(_) => Err(DiscordCheckError::Unreachable(format!(
            "discord did not answer within {} s. check the network, and try again.",
            TIMEOUT.as_secs()
        ))),
    }
}

/// Returns the link that adds the application to the user's account.
pub fn install_link(application: Snowflake) -> String {
    format!(
        "https://discord.com/oauth2/authorize?client_id={application}&integration_type=1&scope=applications.commands"
    )
}

fn classify(trouble: &DiscordError, application: Option<Snowflake>) -> DiscordCheckError {
    let link = application.map(install_link).unwrap_or_default();
    DiscordCheckError::Rejected(match trouble {
        DiscordError::InvalidToken => {
            "discord rejected that token. on the Bot page press Reset Token once more, and copy \
                           what it shows."
                .to_owned()
        }
        DiscordError::Forbidden { code: 50278, .. } => {
            let server = application.map(|id| {
                format!("https://discord.com/oauth2/authorize?client_id={id}&scope=bot&permissions=0")
            });
            format!(
                "discord won't let me message you without a shared server. make an empty server and add me there: {}",
                server.unwrap_or_default()
            )
        }
        DiscordError::Forbidden { code: 50001 | 50007, .. } => format!(
            "discord won't let me message you: the application is not added to your account. open {link} and press \
             Add to My Apps."
        ),
        DiscordError::Forbidden { .. } | DiscordError::Rejected { .. } | DiscordError::NotFound { .. } => {
            format!("{trouble}. add the application to your account again: {link}")
        }
        DiscordError::Unavailable(why) | DiscordError::OutcomeUnknown(why) => {
            let why = why.strip_prefix("Discord cannot be reached: ").unwrap_or(why);
            let why = format!("discord cannot be reached: {why}. check the network, and try again.");
            return DiscordCheckError::Unreachable(why);
        }
    })
}
