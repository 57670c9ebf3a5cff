//! The user's setting of the daily limit, which overrides settings.toml.

use std::fmt;

use super::setting::flag;
use crate::cost::{BudgetLimit, Micros};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DailyLimit {
    /// The configured limit applies.
    #[default]
    AsConfigured,
    /// There is no limit.
    Off,
    /// Money, tokens, or both; the configured limit applies to the other.
    Set(BudgetLimit),
}

impl DailyLimit {
    /// Returns the limit in force, where `configured` is the limit of settings.toml.
    pub fn resolve(self, configured: BudgetLimit) -> BudgetLimit {
        match self {
            Self::AsConfigured => configured,
            Self::Off => BudgetLimit::default(),
            Self::Set(BudgetLimit { money, tokens }) => {
                BudgetLimit { money: money.or(configured.money), tokens: tokens.or(configured.tokens) }
            }
        }
    }

    /// Returns the setting under which `limit` applies.
    pub fn from_limit(limit: BudgetLimit) -> Self {
        if limit == BudgetLimit::default() { Self::Off } else { Self::Set(limit) }
    }

    /// Parses a typed limit; `None` if it is invalid.
    pub fn parse(typed: &str) -> Option<Self> {
        match typed.trim() {
            "default" | "null" => return Some(Self::AsConfigured),
            word if flag(word) == Some(false) && word != "0" => return Some(Self::Off),
            _ => {}
        }
        let mut limit = BudgetLimit::default();
        for word in typed.split_whitespace() {
            match word.strip_suffix(['k', 'M']) {
                Some(number) if limit.tokens.is_none() => limit.tokens = Some(tokens(number, word)?),
                None if limit.money.is_none() => limit.money = Some(money(word)?),
                Some(_) | None => return None,
            }
        }
        (limit != BudgetLimit::default()).then_some(Self::Set(limit))
    }
}

/// Parses a number of thousands or millions of tokens.
fn tokens(number: &str, word: &str) -> Option<u64> {
    let thousands = if word.ends_with('M') { 1_000.0 } else { 1.0 };
    let thousands = (amount(number)? * thousands).round();
    (thousands < 1e9).then_some(thousands as u64 * 1_000)
}

/// Parses dollars, rounded to cents.
fn money(word: &str) -> Option<Micros> {
    Micros::from_dollars((amount(word.strip_prefix('$').unwrap_or(word))? * 100.0).round() / 100.0)
}

/// Parses digits with an optional decimal point.
fn amount(text: &str) -> Option<f64> {
    let plain = text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if plain { text.parse().ok() } else { None }
}

/// Formats it so that it can be typed again.
impl fmt::Display for DailyLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BudgetLimit { money, tokens } = match self {
            Self::AsConfigured => return f.write_str("default"),
            Self::Off => return f.write_str("off"),
            Self::Set(limit) => *limit,
        };
        let tokens = tokens.map(|tokens| match tokens % 1_000_000 {
            0 => format!("{}M", tokens / 1_000_000),
            _ => format!("{}k", tokens.div_ceil(1_000)),
        });
        // Amounts below a cent cannot be typed.
        let money = money.map(|money| money.in_whole_cents().to_string());
        let parts: Vec<String> = money.into_iter().chain(tokens).collect();
        f.write_str(&parts.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A limit is money, tokens, both or none; its text can be parsed again, and missing parts come
    /// from the configuration.
    #[test]
    fn limit_is_parsed_in_every_form() {
        let written = BudgetLimit { money: Some(Micros(5_000_000)), tokens: Some(5_000_000) };
        let check = |typed: &str, told: Option<&str>, money: Option<u64>, tokens: Option<u64>| {
            let read = DailyLimit::parse(typed);
            assert_eq!(read.map(|limit| limit.to_string()).as_deref(), told, "{typed:?}");
            let Some(limit) = read else { return };
            assert_eq!(DailyLimit::parse(&limit.to_string()), read, "{typed:?}");
            assert_eq!(limit.resolve(written), BudgetLimit { money: money.map(Micros), tokens }, "{typed:?}");
        };
        check("6", Some("$6.00"), Some(6_000_000), Some(5_000_000));
        check("$6.50", Some("$6.50"), Some(6_500_000), Some(5_000_000));
        check("0", Some("$0.00"), Some(0), Some(5_000_000));
        check("8M", Some("8M"), Some(5_000_000), Some(8_000_000));
        check("1.5M $2", Some("$2.00 1500k"), Some(2_000_000), Some(1_500_000));
        check("off", Some("off"), None, None);
        check("default", Some("default"), Some(5_000_000), Some(5_000_000));
        for wrong in ["", "lots", "-1", "6 7", "8M 9M", "1e9", "$", "M", "9999999999M", "."] {
            check(wrong, None, None, None);
        }
    }
}
