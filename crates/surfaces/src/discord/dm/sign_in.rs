//! Signs in: finds out the ids of the application, the bot, the user and the DM.
//!
//! The user is the owner of the application. The owner's id is pinned the first time, so a later
//! change on Discord's side grants no access. Until it is known, all messages are ignored.

use std::time::Duration;

use engine::ports::ReadError;

use super::connection_status::ConnectionStatus;
use super::{DiscordPorts, Identity, Shared};
use crate::discord::Snowflake;
use crate::discord::gateway::Session;
use crate::discord::rest::{Application, DiscordError, Rest};

const OWNER_KEY: &str = "discord.owner";
pub(super) const SESSION_KEY: &str = "discord.session";

/// First and longest delay between attempts.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Signs in, retrying while Discord is unreachable. Returns an error text if the user has to act.
pub(super) async fn sign_in(rest: &Rest, ports: &DiscordPorts) -> Result<Identity, String> {
    let mut wait = RETRY_DELAYS.0;
    loop {
        match try_once(rest, ports).await {
            Ok(signed) => return Ok(signed),
            Err(SignInError::Final(why)) => return Err(why),
            Err(SignInError::Retry(why)) => {
                tracing::warn!(%why, "Discord cannot be reached; it is tried again.");
                ports.status.send_replace(ConnectionStatus::Reconnecting(why));
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(RETRY_DELAYS.1);
            }
        }
    }
}

/// Returns the stored session, if it can be read.
pub(super) async fn saved_session(shared: &Shared) -> Option<Session> {
    let kept = shared.ports.outbox.kv_get(SESSION_KEY).await.ok().flatten()?;
    serde_json::from_str(&kept).ok()
}

enum SignInError {
    Retry(String),
    Final(String),
}

async fn try_once(rest: &Rest, ports: &DiscordPorts) -> Result<Identity, SignInError> {
    let Application { id, owner } = rest.application().await.map_err(to_error)?;
    let owner = owner.id().ok_or_else(|| {
        SignInError::Final(
            "discord does not say who owns the application, so i listen to nobody there.".to_owned(),
        )
    })?;
    pin_owner(owner, ports).await?;
    let me = rest.current_user().await.map_err(to_error)?;
    let channel = rest.open_dm(owner).await.map_err(to_error)?;
    Ok(Identity { application: id, bot: me, owner, channel })
}

async fn pin_owner(owner: Snowflake, ports: &DiscordPorts) -> Result<(), SignInError> {
    let unreadable = |ReadError(why)| SignInError::Retry(why);
    match ports.outbox.kv_get(OWNER_KEY).await.map_err(unreadable)? {
        Some(pinned) if pinned == owner.to_string() => Ok(()),
        Some(pinned) => Err(SignInError::Final(format!(
            "the application belongs to {owner} now, and you are {pinned}. if you gave it away on purpose, run \
             `ollim-bot` with the token of an application of your own."
        ))),
        None => {
            let kept = ports.outbox.kv_set(OWNER_KEY, owner.to_string()).await;
            kept.map_err(|unwritten| SignInError::Retry(unwritten.to_string()))
        }
    }
}

fn to_error(trouble: DiscordError) -> SignInError {
    match trouble {
        DiscordError::InvalidToken => {
            SignInError::Final(format!("{trouble}, and put it into DISCORD_TOKEN."))
        }
        DiscordError::Forbidden { .. } | DiscordError::Rejected { .. } | DiscordError::NotFound { .. } => {
            SignInError::Final(format!("{trouble}. invite the application to your account again."))
        }
        DiscordError::Unavailable(_) | DiscordError::OutcomeUnknown(_) => {
            SignInError::Retry(trouble.to_string())
        }
    }
}
