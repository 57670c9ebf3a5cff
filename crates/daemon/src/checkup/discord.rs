//! Checks the Discord account: whether the token works, who owns the application, and whether it
//! may message them.

use std::sync::Arc;
use std::time::Duration;

use surfaces::discord::message::Outgoing;
use surfaces::discord::rest::{Application, Rest, Trouble};
use surfaces::discord::wire::net::Net;
use surfaces::discord::{Snowflake, Token};

use super::Finding;
use crate::settings::{Discord, Settings};

const FIX: &str = "ollim-bot setup discord";
/// Timeout for a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// The account as Discord describes it.
#[derive(Clone, Debug)]
pub struct Met {
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
pub enum Unmet {
    /// Discord cannot be reached; trying again later may help.
    #[error("{0}")]
    Away(String),
    /// Discord or our own check rejected it.
    #[error("{0}")]
    Refused(String),
}

impl From<String> for Unmet {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

/// Checks the connection without sending a message.
pub async fn look(settings: &Settings) -> Finding {
    match &settings.places.discord {
        Discord::Off => Finding::absent("discord", "not connected").fixed_by(FIX),
        Discord::Wrong(why) => Finding::wrong("discord", why.clone()).fixed_by(FIX),
        Discord::On { token, base } => match meet(base, token).await {
            Ok(Met { app, owner, .. }) => Finding::fine(
                "discord",
                format!("the token works, app {app}, and i may write to you ({owner})"),
            ),
            // Setup cannot fix a network problem.
            Err(Unmet::Away(why)) => Finding::wrong("discord", why),
            Err(Unmet::Refused(why)) => Finding::wrong("discord", why).fixed_by(FIX),
        },
    }
}

/// Finds the application, its owner and the direct-message channel.
pub async fn meet(base: &str, token: &Token) -> Result<Met, Unmet> {
    in_time(async {
        let rest = rest(base, token)?;
        let (application, names) = rest.introduction().await.map_err(|trouble| sorted(&trouble, None))?;
        let Application { id, owner } = application;
        let owner = owner.id().ok_or_else(|| NOBODY.to_owned())?;
        let opened = rest.open_dm(owner).await;
        let channel = opened.map_err(|trouble| sorted(&trouble, Some(id)))?;
        let app = names.application.map_or_else(|| id.to_string(), |name| format!("\"{name}\""));
        Ok(Met { application: id, app, owner: names.owner.unwrap_or_else(|| owner.to_string()), channel })
    })
    .await
}

/// Sends `words` to the user.
pub async fn write(base: &str, token: &Token, met: &Met, words: &str) -> Result<(), Unmet> {
    in_time(async {
        let sent = rest(base, token)?.create_message(met.channel, &Outgoing::words(words), None).await;
        sent.map(drop).map_err(|trouble| sorted(&trouble, Some(met.application)))
    })
    .await
}

const NOBODY: &str = "discord does not say who owns the application, so i would listen to nobody. make one of your own at \
                      https://discord.com/developers/applications";

fn rest(base: &str, token: &Token) -> Result<Rest, String> {
    let wire = Net::new(base, token).map_err(|wrong| format!("{wrong}."))?;
    Ok(Rest::new(Arc::new(wire)))
}

async fn in_time<T>(work: impl Future<Output = Result<T, Unmet>>) -> Result<T, Unmet> {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => Err(Unmet::Away(format!(
            "discord did not answer within {} s. check the network, and try again.",
            PATIENCE.as_secs()
        ))),
    }
}

/// Returns the link that adds the application to the user's account.
pub fn install_link(application: Snowflake) -> String {
    format!(
        "https://discord.com/oauth2/authorize?client_id={application}&integration_type=1&scope=applications.commands"
    )
}

fn sorted(trouble: &Trouble, application: Option<Snowflake>) -> Unmet {
    let link = application.map(install_link).unwrap_or_default();
    Unmet::Refused(match trouble {
        Trouble::Token => {
            "discord rejected that token. on the Bot page press Reset Token once more, and copy \
                           what it shows."
                .to_owned()
        }
        Trouble::NotAllowed { code: 50278, .. } => {
            let server = application.map(|id| {
                format!("https://discord.com/oauth2/authorize?client_id={id}&scope=bot&permissions=0")
            });
            format!(
                "discord won't let me message you without a shared server. make an empty server and add me there: {}",
                server.unwrap_or_default()
            )
        }
        Trouble::NotAllowed { code: 50001 | 50007, .. } => format!(
            "discord won't let me message you: the application is not added to your account. open {link} and press \
             Add to My Apps."
        ),
        Trouble::NotAllowed { .. } | Trouble::Refused { .. } | Trouble::Gone { .. } => {
            format!("{trouble}. add the application to your account again: {link}")
        }
        Trouble::Away(why) | Trouble::Unknown(why) => {
            let why = why.strip_prefix("Discord cannot be reached: ").unwrap_or(why);
            let why = format!("discord cannot be reached: {why}. check the network, and try again.");
            return Unmet::Away(why);
        }
    })
}
