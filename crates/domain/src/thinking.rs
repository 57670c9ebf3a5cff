//! The thinking modes of models.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// EN-7: How much a model thinks before it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Thinking {
    /// The best mode of the model for a chat.
    #[default]
    Auto,
    /// As little as the model allows; some models always think.
    Off,
    /// As much as the model finds useful.
    Adaptive,
    /// At most this many tokens.
    Budget(NonZeroU32),
}

/// The error for an unknown thinking mode. The user must act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no way to think. use `auto`, `off`, `adaptive`, or a number of tokens such as 8000")]
pub struct InvalidThinking(String);

impl Thinking {
    /// Returns the displayed text: `auto`, `off`, `adaptive`, `8k budget`.
    pub fn display_text(self) -> String {
        match self {
            Self::Budget(tokens) => format!("{}k budget", tokens.get() / 1000),
            Self::Auto | Self::Off | Self::Adaptive => self.to_string(),
        }
    }
}

/// Formats the stored text: `auto`, `off`, `adaptive`, `8000`.
impl fmt::Display for Thinking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Off => f.write_str("off"),
            Self::Adaptive => f.write_str("adaptive"),
            Self::Budget(tokens) => write!(f, "{tokens}"),
        }
    }
}

impl FromStr for Thinking {
    type Err = InvalidThinking;

    fn from_str(text: &str) -> Result<Self, InvalidThinking> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            "adaptive" => Ok(Self::Adaptive),
            _ => parse_tokens(text).map(Self::Budget).ok_or_else(|| InvalidThinking(text.to_owned())),
        }
    }
}

/// Parses a number of tokens such as `8000`, or the displayed `8k budget`.
fn parse_tokens(text: &str) -> Option<NonZeroU32> {
    let text = text.strip_suffix(" budget").unwrap_or(text);
    let (digits, times) = text.strip_suffix('k').map_or((text, 1), |thousands| (thousands, 1000));
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u32 = digits.parse().ok().filter(|_| is_number)?;
    NonZeroU32::new(number.checked_mul(times)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EN-7, RC-4, SL-9: Three words and a number are valid; the error names the valid values.
    #[test]
    fn thinking_modes_are_parsed_or_refused() {
        let check = |text: &str, shown: &str, kept: &str| {
            let read: Thinking = text.parse().unwrap();
            assert_eq!((read.display_text().as_str(), read.to_string().as_str()), (shown, kept), "{text}");
        };
        check("auto", "auto", "auto");
        check("off", "off", "off");
        check("adaptive", "adaptive", "adaptive");
        check("8000", "8k budget", "8000");
        check("32k", "32k budget", "32000");
        check("64k budget", "64k budget", "64000");
        check("500", "0k budget", "500");
        for bad in ["", "0", "-1", "+2000", "Off", "99999999999", "5000000k", "Auto", "true", "k", " budget"]
        {
            let told = bad.parse::<Thinking>().unwrap_err().to_string();
            assert!(told.starts_with(&format!("`{bad}` is no way to think. use `auto`, `off`")), "{told}");
        }
    }
}
