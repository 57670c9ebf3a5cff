//! Registration of the slash commands with Discord, only when they changed.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::table::registration_payload;
use crate::discord::Snowflake;
use crate::discord::dm::Shared;

/// Key under which the fingerprint of the registered commands is stored.
const FINGERPRINT_KEY: &str = "discord.commands";

/// SL-1: registers all commands, unless Discord has them already. Failures are only logged; the
/// next start tries again.
pub(in crate::discord) async fn register(shared: Arc<Shared>) {
    let outbox = &shared.ports.outbox;
    let application = shared.identity.application;
    let table = registration_payload();
    let fingerprint = fingerprint(application, &table);
    match outbox.kv_get(FINGERPRINT_KEY).await {
        Ok(known) if known.as_ref() == Some(&fingerprint) => return,
        Ok(_) => {}
        Err(why) => tracing::warn!(%why, "Nobody knows which commands Discord has, so it is told again."),
    }
    if let Err(trouble) = shared.rest.put_commands(application, table).await {
        tracing::warn!(%trouble, "The commands could not be registered; the next start tries again.");
        return;
    }
    if let Err(why) = outbox.kv_set(FINGERPRINT_KEY, fingerprint).await {
        tracing::warn!(%why, "The commands are registered once more at the next start.");
    }
}

/// Returns a hash that identifies the commands of one application.
fn fingerprint(application: Snowflake, table: &Value) -> String {
    let digest = Sha256::digest(format!("{application} {table}"));
    digest.iter().fold(String::new(), |mut mark, byte| {
        let _ = write!(mark, "{byte:02x}");
        mark
    })
}
