//! Signs in: finds out the ids of the application, the bot, the user and the DM.
//!
//! The user is the owner of the application. The owner's id is pinned the first time, so a later
//! change on Discord's side grants no access. Until it is known, all messages are ignored.

use std::time::Duration;

use engine::ports::Unreadable;

use super::line::Line;
use super::{Ports, Shared, Signed};
use crate::discord::Snowflake;
use crate::discord::gateway::Session;
use crate::discord::rest::{Application, Rest, Trouble};

const OWNER: &str = "discord.owner";
pub(super) const SESSION: &str = "discord.session";

/// First and longest delay between attempts.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Signs in, retrying while Discord is unreachable. Returns an error text if the user has to act.
pub(super) async fn sign_in(rest: &Rest, ports: &Ports) -> Result<Signed, String> {
    let mut wait = WAITS.0;
    loop {
        match try_once(rest, ports).await {
            Ok(signed) => return Ok(signed),
            Err(Refusal::Final(why)) => return Err(why),
            Err(Refusal::Later(why)) => {
                tracing::warn!(%why, "Discord cannot be reached; it is tried again.");
                ports.line.send_replace(Line::Away(why));
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(WAITS.1);
            }
        }
    }
}

/// Returns the stored session, if it can be read.
pub(super) async fn session(shared: &Shared) -> Option<Session> {
    let kept = shared.ports.outbox.keepsake(SESSION).await.ok().flatten()?;
    serde_json::from_str(&kept).ok()
}

enum Refusal {
    Later(String),
    Final(String),
}

async fn try_once(rest: &Rest, ports: &Ports) -> Result<Signed, Refusal> {
    let Application { id, owner } = rest.application().await.map_err(sorted)?;
    let owner = owner.id().ok_or_else(|| {
        Refusal::Final(
            "discord does not say who owns the application, so i listen to nobody there.".to_owned(),
        )
    })?;
    pin(owner, ports).await?;
    let me = rest.me().await.map_err(sorted)?;
    let channel = rest.open_dm(owner).await.map_err(sorted)?;
    Ok(Signed { application: id, me, owner, channel })
}

async fn pin(owner: Snowflake, ports: &Ports) -> Result<(), Refusal> {
    let unreadable = |Unreadable(why)| Refusal::Later(why);
    match ports.outbox.keepsake(OWNER).await.map_err(unreadable)? {
        Some(pinned) if pinned == owner.to_string() => Ok(()),
        Some(pinned) => Err(Refusal::Final(format!(
            "the application belongs to {owner} now, and you are {pinned}. if you gave it away on purpose, run \
             `ollim-bot` with the token of an application of your own."
        ))),
        None => {
            let kept = ports.outbox.keep(OWNER, owner.to_string()).await;
            kept.map_err(|unwritten| Refusal::Later(unwritten.to_string()))
        }
    }
}

fn sorted(trouble: Trouble) -> Refusal {
    match trouble {
        Trouble::Token => Refusal::Final(format!("{trouble}, and put it into DISCORD_TOKEN.")),
        Trouble::NotAllowed { .. } | Trouble::Refused { .. } | Trouble::Gone { .. } => {
            Refusal::Final(format!("{trouble}. invite the application to your account again."))
        }
        Trouble::Away(_) | Trouble::Unknown(_) => Refusal::Later(trouble.to_string()),
    }
}
