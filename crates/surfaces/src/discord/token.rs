//! The bot's token. Its `Debug` output hides it.

use std::fmt;

/// Authenticates the bot.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Error for a text that cannot be a token. The user must fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the Discord token is empty or has a space or another character that no token has; \
     copy it once more from the Bot page of discord.com/developers"
)]
pub struct InvalidToken;

impl Token {
    /// Parses a token as copied; surrounding whitespace and a leading `Bot ` are ignored.
    pub fn parse(text: &str) -> Result<Self, InvalidToken> {
        let text = text.trim();
        let text = text.strip_prefix("Bot ").unwrap_or(text).trim_start();
        if text.is_empty() || !text.chars().all(|c| c.is_ascii_graphic()) {
            return Err(InvalidToken);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the token for requests to Discord.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_parsed_as_copied_and_never_printed() {
        let token = Token::parse(" Bot MTk4.Cl2FMQ.Zn-a_b \n").unwrap();
        assert_eq!(token.reveal(), "MTk4.Cl2FMQ.Zn-a_b");
        assert_eq!(format!("{token:?}"), "Token(..)");
        for bad in ["", "a b", "a\nb", "schlüssel"] {
            assert_eq!(Token::parse(bad), Err(InvalidToken), "{bad}");
        }
    }
}
