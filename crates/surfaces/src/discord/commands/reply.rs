//! Replies to commands, sent within Discord's time limit.

use super::table::ReplyMode;
use crate::discord::Snowflake;
use crate::discord::dm::Shared;
use crate::discord::dm::interactions::{acknowledge, refuse, send_ephemeral};
use crate::discord::events::Interaction;
use crate::discord::message::{Callback, Flags, OutgoingMessage};
use crate::discord::rest::DiscordError;
use crate::discord::split::split;

/// SL-3: reply after an internal error.
const INTERNAL_ERROR: &str = "something broke on my side. try it once more, or on the page.";
/// Appended to truncated text. `split` leaves space for it in a part that is followed by another.
const TRUNCATION_NOTE: &str = "\n-# more on the page: `ollim-bot open`";

/// Result of a command.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// Nothing to show.
    Nothing,
    /// Visible to the user only.
    Ephemeral(OutgoingMessage),
    /// Visible in the channel.
    Visible(OutgoingMessage),
}

impl Reply {
    pub(super) fn ephemeral(text: &str) -> Self {
        Self::Ephemeral(OutgoingMessage::text(fit_message(text)))
    }

    pub(super) fn visible(text: &str) -> Self {
        Self::Visible(OutgoingMessage::text(fit_message(text)))
    }
}

/// Truncates `text` to one message, with a note where the rest is.
pub(super) fn fit_message(text: &str) -> String {
    let mut parts = split(text).into_iter();
    match (parts.next(), parts.next()) {
        (None, _) => "…".to_owned(),
        (Some(only), None) => only,
        (Some(first), Some(_)) => first + TRUNCATION_NOTE,
    }
}

/// XB-10: answers `interaction` as `manner` demands, with the result of `work`.
pub(super) async fn respond(
    shared: &Shared,
    interaction: &Interaction,
    manner: ReplyMode,
    work: impl Future<Output = Reply>,
) {
    let flags = match manner {
        ReplyMode::Ephemeral | ReplyMode::Visible => {
            return respond_now(shared, interaction, work.await).await;
        }
        ReplyMode::DeferredEphemeral | ReplyMode::DeferredSilent => Flags::EPHEMERAL,
        ReplyMode::DeferredVisible => visibility(shared.channel(), interaction),
    };
    if acknowledge(shared, interaction, &Callback::Deferred(flags)).await.is_ok() {
        complete_deferred(shared, interaction, flags, work.await).await;
    }
}

/// Outside of the DM, replies are ephemeral.
fn visibility(ours: Snowflake, interaction: &Interaction) -> Flags {
    if interaction.channel == Some(ours) { Flags::default() } else { Flags::EPHEMERAL }
}

/// Returns the message of a reply and its visibility.
fn message_and_flags(
    shared: &Shared,
    interaction: &Interaction,
    reply: Reply,
) -> Option<(OutgoingMessage, Flags)> {
    match reply {
        Reply::Nothing => None,
        Reply::Ephemeral(outgoing) => Some((outgoing, Flags::EPHEMERAL)),
        Reply::Visible(outgoing) => Some((outgoing, visibility(shared.channel(), interaction))),
    }
}

async fn respond_now(shared: &Shared, interaction: &Interaction, reply: Reply) {
    let Some((mut outgoing, flags)) = message_and_flags(shared, interaction, reply) else {
        if acknowledge(shared, interaction, &Callback::Deferred(Flags::EPHEMERAL)).await.is_ok() {
            delete_original(shared, interaction).await;
        }
        return;
    };
    outgoing.flags = flags.union(Flags::NO_EMBEDS);
    if let Err(DiscordError::Rejected { .. }) =
        acknowledge(shared, interaction, &Callback::Message(outgoing)).await
    {
        refuse(shared, interaction, INTERNAL_ERROR).await;
    }
}

/// Completes a deferred reply that was announced with `flags`.
async fn complete_deferred(shared: &Shared, interaction: &Interaction, flags: Flags, reply: Reply) {
    let application = shared.identity.application;
    let token = &interaction.token;
    let Some((mut outgoing, wanted)) = message_and_flags(shared, interaction, reply) else {
        return delete_original(shared, interaction).await;
    };
    if wanted != flags {
        // Visibility is fixed when the reply is deferred.
        delete_original(shared, interaction).await;
        outgoing.flags = wanted.union(Flags::NO_EMBEDS);
        if let Err(trouble) = shared.rest.follow_up(application, token, &outgoing).await {
            tracing::warn!(%trouble, "A command was done, and its answer could not be given.");
        }
        return;
    }
    outgoing.flags = Flags::NO_EMBEDS;
    if let Err(trouble) = shared.rest.edit_original(application, token, &outgoing).await {
        tracing::warn!(%trouble, "A command was done, and its answer could not be given.");
        delete_original(shared, interaction).await;
        send_ephemeral(shared, interaction, INTERNAL_ERROR).await;
    }
}

async fn delete_original(shared: &Shared, interaction: &Interaction) {
    let gone = shared.rest.delete_original(shared.identity.application, &interaction.token).await;
    if let Err(trouble) = gone {
        tracing::info!(%trouble, "A trace of a command stays.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discord::split::{MAX_UNITS, units};

    #[test]
    fn replies_outside_the_dm_are_ephemeral() {
        use crate::discord::events::{InteractionKind, InteractionToken};
        let asked = |channel| Interaction {
            id: Snowflake(1),
            token: InteractionToken("t".to_owned()),
            application: Snowflake(2),
            user: Snowflake(3),
            channel,
            kind: InteractionKind::Unknown,
        };
        let seen = |channel| visibility(Snowflake(7), &asked(channel));
        assert_eq!(seen(Some(Snowflake(7))), Flags::default());
        assert_eq!(seen(Some(Snowflake(8))), Flags::EPHEMERAL);
        assert_eq!(seen(None), Flags::EPHEMERAL);
    }

    #[test]
    fn a_long_answer_is_cut_and_says_where_the_rest_is() {
        assert_eq!(fit_message("short"), "short");
        assert_eq!(fit_message(""), "…");
        for letter in ["x", "word ", "é ", "```\ncode\n", "🙂"] {
            let cut = fit_message(&letter.repeat(3_000));
            assert!(cut.ends_with("`ollim-bot open`"), "{cut}");
            assert!(units(&cut) <= MAX_UNITS, "{}", units(&cut));
        }
    }
}
