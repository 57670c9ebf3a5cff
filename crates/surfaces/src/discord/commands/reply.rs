//! Replies to commands, sent within Discord's time limit.

use super::table::Manner;
use crate::discord::Snowflake;
use crate::discord::dm::Shared;
use crate::discord::dm::pressing::{acknowledge, refuse, whisper};
use crate::discord::events::Interaction;
use crate::discord::message::{Callback, Flags, Outgoing};
use crate::discord::rest::Trouble;
use crate::discord::split::split;

/// SL-3: reply after an internal error.
const SORRY: &str = "something broke on my side. try it once more, or on the page.";
/// Appended to truncated text. `split` leaves space for it in a part that is followed by another.
const MORE: &str = "\n-# more on the page: `ollim-bot open`";

/// Result of a command.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// Nothing to show.
    Nothing,
    /// Visible to the user only.
    Glance(Outgoing),
    /// Visible in the channel.
    Stays(Outgoing),
}

impl Reply {
    pub(super) fn glance(text: &str) -> Self {
        Self::Glance(Outgoing::words(fit(text)))
    }

    pub(super) fn stays(text: &str) -> Self {
        Self::Stays(Outgoing::words(fit(text)))
    }
}

/// Truncates `text` to one message, with a note where the rest is.
pub(super) fn fit(text: &str) -> String {
    let mut parts = split(text).into_iter();
    match (parts.next(), parts.next()) {
        (None, _) => "…".to_owned(),
        (Some(only), None) => only,
        (Some(first), Some(_)) => first + MORE,
    }
}

/// XB-10: answers `interaction` as `manner` demands, with the result of `work`.
pub(super) async fn give(
    shared: &Shared,
    interaction: &Interaction,
    manner: Manner,
    work: impl Future<Output = Reply>,
) {
    let flags = match manner {
        Manner::Glance | Manner::List => return at_once(shared, interaction, work.await).await,
        Manner::LookUp | Manner::Quiet => Flags::EPHEMERAL,
        Manner::Work => here(shared.channel(), interaction),
    };
    if acknowledge(shared, interaction, &Callback::Later(flags)).await.is_ok() {
        then(shared, interaction, flags, work.await).await;
    }
}

/// Outside of the DM, replies are ephemeral.
fn here(ours: Snowflake, interaction: &Interaction) -> Flags {
    if interaction.channel == Some(ours) { Flags::default() } else { Flags::EPHEMERAL }
}

/// Returns the message of a reply and its visibility.
fn addressed(shared: &Shared, interaction: &Interaction, reply: Reply) -> Option<(Outgoing, Flags)> {
    match reply {
        Reply::Nothing => None,
        Reply::Glance(outgoing) => Some((outgoing, Flags::EPHEMERAL)),
        Reply::Stays(outgoing) => Some((outgoing, here(shared.channel(), interaction))),
    }
}

async fn at_once(shared: &Shared, interaction: &Interaction, reply: Reply) {
    let Some((mut outgoing, flags)) = addressed(shared, interaction, reply) else {
        if acknowledge(shared, interaction, &Callback::Later(Flags::EPHEMERAL)).await.is_ok() {
            take_away(shared, interaction).await;
        }
        return;
    };
    outgoing.flags = flags.and(Flags::NO_EMBEDS);
    if let Err(Trouble::Refused { .. }) = acknowledge(shared, interaction, &Callback::Message(outgoing)).await
    {
        refuse(shared, interaction, SORRY).await;
    }
}

/// Completes a deferred reply that was announced with `flags`.
async fn then(shared: &Shared, interaction: &Interaction, flags: Flags, reply: Reply) {
    let application = shared.signed.application;
    let token = &interaction.token;
    let Some((mut outgoing, wanted)) = addressed(shared, interaction, reply) else {
        return take_away(shared, interaction).await;
    };
    if wanted != flags {
        // Visibility is fixed when the reply is deferred.
        take_away(shared, interaction).await;
        outgoing.flags = wanted.and(Flags::NO_EMBEDS);
        if let Err(trouble) = shared.rest.follow_up(application, token, &outgoing).await {
            tracing::warn!(%trouble, "A command was done, and its answer could not be given.");
        }
        return;
    }
    outgoing.flags = Flags::NO_EMBEDS;
    if let Err(trouble) = shared.rest.edit_original(application, token, &outgoing).await {
        tracing::warn!(%trouble, "A command was done, and its answer could not be given.");
        take_away(shared, interaction).await;
        whisper(shared, interaction, SORRY).await;
    }
}

async fn take_away(shared: &Shared, interaction: &Interaction) {
    let gone = shared.rest.delete_original(shared.signed.application, &interaction.token).await;
    if let Err(trouble) = gone {
        tracing::info!(%trouble, "A trace of a command stays.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discord::split::{LONGEST, units};

    #[test]
    fn what_is_answered_elsewhere_only_the_human_sees() {
        use crate::discord::events::{Asked, InteractionToken};
        let asked = |channel| Interaction {
            id: Snowflake(1),
            token: InteractionToken("t".to_owned()),
            application: Snowflake(2),
            user: Snowflake(3),
            channel,
            asked: Asked::Unknown,
        };
        let seen = |channel| here(Snowflake(7), &asked(channel));
        assert_eq!(seen(Some(Snowflake(7))), Flags::default());
        assert_eq!(seen(Some(Snowflake(8))), Flags::EPHEMERAL);
        assert_eq!(seen(None), Flags::EPHEMERAL);
    }

    #[test]
    fn a_long_answer_is_cut_and_says_where_the_rest_is() {
        assert_eq!(fit("short"), "short");
        assert_eq!(fit(""), "…");
        for letter in ["x", "word ", "é ", "```\ncode\n", "🙂"] {
            let cut = fit(&letter.repeat(3_000));
            assert!(cut.ends_with("`ollim-bot open`"), "{cut}");
            assert!(units(&cut) <= LONGEST, "{}", units(&cut));
        }
    }
}
