//! Errors that retrying cannot fix, each with what to do about it.

/// Why the gateway gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fatal {
    /// Status 401 or close code 4004.
    #[error(
        "Discord does not accept the token: make a new one on the Bot page of discord.com/developers, \
         put it into DISCORD_TOKEN and start again"
    )]
    Token,
    /// Close code 4010 or 4011.
    #[error(
        "Discord wants this bot split into shards, which is for bots on thousands of servers: \
         make an application of your own on discord.com/developers and use its token"
    )]
    Shards,
    /// Close code 4012.
    #[error("Discord no longer speaks version 10 of its gateway: update ollim-bot")]
    Version,
    /// Close code 4013.
    #[error("Discord does not know an intent that we ask for: update ollim-bot")]
    Intents,
    /// Close code 4014.
    #[error(
        "Discord does not let this bot hear direct messages: \
         look at the intents on the Bot page of discord.com/developers, then start again"
    )]
    DisallowedIntents,
}

impl Fatal {
    /// Returns the error for a close code, unless retrying can fix it.
    pub fn from_close_code(code: u16) -> Option<Self> {
        match code {
            4004 => Some(Self::Token),
            4010 | 4011 => Some(Self::Shards),
            4012 => Some(Self::Version),
            4013 => Some(Self::Intents),
            4014 => Some(Self::DisallowedIntents),
            _ => None,
        }
    }
}
