//! How much a model thinks before it speaks.

use std::str::FromStr;

/// The fewest tokens that are worth a budget; the vendor refuses less.
const LEAST: u32 = 1024;

/// EN-7: how much the model thinks before it speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thinking {
    /// Not at all.
    Off,
    /// As much as it likes.
    #[default]
    Adaptive,
    /// This many tokens at most.
    Budget(u32),
}

/// Words that say no way to think. The human must act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no way to think. use `off`, `adaptive`, or a number of tokens from {LEAST} on")]
pub struct BadThinking(String);

impl FromStr for Thinking {
    type Err = BadThinking;

    fn from_str(text: &str) -> Result<Self, BadThinking> {
        let bad = || BadThinking(text.to_owned());
        match text {
            "off" => Ok(Self::Off),
            "adaptive" => Ok(Self::Adaptive),
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                let tokens = digits.parse().ok().filter(|tokens| *tokens >= LEAST);
                tokens.map(Self::Budget).ok_or_else(bad)
            }
            _ => Err(bad()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EN-7: two words and a number are ways to think; everything else is told what would be one.
    #[test]
    fn a_way_to_think_is_read_or_refused_in_words() {
        let check = |text: &str, expected: Option<Thinking>| {
            let read = text.parse::<Thinking>();
            assert_eq!(read.clone().ok(), expected, "{text}");
            if let Err(bad) = read {
                let told = format!(
                    "`{text}` is no way to think. use `off`, `adaptive`, or a number of tokens from 1024 on"
                );
                assert_eq!(bad.to_string(), told);
            }
        };
        check("off", Some(Thinking::Off));
        check("adaptive", Some(Thinking::Adaptive));
        check("1024", Some(Thinking::Budget(1024)));
        check("32000", Some(Thinking::Budget(32_000)));
        for bad in ["", "1023", "0", "-1", "+2000", "8k", "Off", "99999999999", "true"] {
            check(bad, None);
        }
    }
}
