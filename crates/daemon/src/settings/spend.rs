//! Spending limits and prices of models.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

use domain::cost::{Budget, BudgetLimit, LongPrompt, Micros, Price, Prices, Rates};
use domain::turn;
use journal::Paths;

use super::file::{self, LimitValue, SettingsFile};
use crate::exit::CommandError;

#[derive(Clone, Debug)]
pub struct SpendSettings {
    /// Prices, and the limits of unattended work.
    pub budget: Budget,
    /// The limits of one turn.
    pub turn: turn::TurnLimits,
    /// The problem of the price file, if it was ignored.
    pub price_file_problem: Option<String>,
}

pub fn read(file: &SettingsFile, paths: &Paths) -> Result<SpendSettings, CommandError> {
    let spend = &file.spend;
    let dollars = "unattended_dollars_per_day";
    let tokens = "unattended_tokens_per_day";
    let limit = BudgetLimit {
        money: parse_limit(dollars, &spend.unattended_dollars_per_day, Micros::from_dollars)?,
        tokens: parse_limit(tokens, &spend.unattended_tokens_per_day, whole_number)?,
    };
    let wrong = |why: String| {
        CommandError::Configuration(format!(
            "settings.toml: {why} write dollars for a million tokens, such as 3.0."
        ))
    };
    let mut prices = BTreeMap::new();
    for (name, price) in &file.prices {
        prices.insert(name.clone(), parse_price(name, price).map_err(wrong)?);
    }
    let price_file_problem = match price_file(paths) {
        Ok(newer) => {
            prices.extend(newer);
            None
        }
        Err(why) => Some(format!(
            "I can't use prices.toml, so the built-in prices apply: {why} Write dollars for a million tokens, such as \
             \"claude-opus-5-5\" = {{ input = 4.0, output = 20.0 }}, and restart."
        )),
    };
    let prices = Prices::new(prices);
    let turn = turn::TurnLimits { tokens: spend.turn_tokens, ..turn::TurnLimits::DEFAULT };
    let reply = u64::from(file.model.max_tokens.unwrap_or(super::MESSAGES_REPLY_TOKENS));
    let purse = Budget { prices: Arc::new(prices), limit, max_reply_tokens: reply, ..Budget::default() };
    Ok(SpendSettings { budget: purse, turn, price_file_problem })
}

fn parse_limit<T>(
    name: &str,
    most: &LimitValue,
    read: impl Fn(f64) -> Option<T>,
) -> Result<Option<T>, CommandError> {
    let (read, given) = match most {
        LimitValue::Word(word) if word == "none" => return Ok(None),
        LimitValue::Word(word) => (None, word.clone()),
        LimitValue::Amount(amount) => (read(*amount), amount.to_string()),
    };
    read.map(Some).ok_or_else(|| {
        CommandError::Configuration(format!(
            "settings.toml: spend.{name} cannot be {given}. write an amount such as 5, or \"none\" for no limit."
        ))
    })
}

fn whole_number(amount: f64) -> Option<u64> {
    (amount.is_finite() && (0.0..1e15).contains(&amount)).then_some(amount as u64)
}

/// The price file in the data directory, which overrides the defaults and `settings.toml`.
const PRICE_FILE: &str = "prices.toml";

/// Reads the price file. A missing file has no prices; an invalid one is an error message.
fn price_file(paths: &Paths) -> Result<Vec<(String, Price)>, String> {
    let text = match std::fs::read_to_string(paths.root().join(PRICE_FILE)) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(format!("{PRICE_FILE} can't be read ({error}).")),
    };
    let prices: BTreeMap<String, file::PriceEntry> = toml::from_str(&text).map_err(|error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].lines().count().max(1));
        let line = line.map(|line| format!(", line {line}")).unwrap_or_default();
        format!("{PRICE_FILE}{line} is not a price.")
    })?;
    prices.iter().map(|(name, price)| Ok((name.clone(), parse_price(name, price)?))).collect()
}

/// Converts one price, or returns an error message that names it.
fn parse_price(name: &str, price: &file::PriceEntry) -> Result<Price, String> {
    let rates = |input: f64, output, cache_read: Option<f64>, cache_write: Option<f64>, hour: Option<f64>| {
        let read = |dollars: f64| {
            Micros::from_dollars(dollars).ok_or_else(|| format!("a price of \"{name}\" is {dollars}."))
        };
        // Servers without a price for the cache bill its tokens as input.
        let cache_write = cache_write.unwrap_or(input);
        Ok::<_, String>(Rates {
            input: read(input)?,
            output: read(output)?,
            cache_read: read(cache_read.unwrap_or(input))?,
            cache_write: read(cache_write)?,
            // The vendor charges twice the input price for one hour.
            cache_write_1h: read(hour.unwrap_or_else(|| (2.0 * input).max(cache_write)))?,
        })
    };
    let dollars = price.per_call.unwrap_or_default();
    let per_call =
        Micros::from_dollars(dollars).ok_or_else(|| format!("a price of \"{name}\" is {dollars}."))?;
    let long = price.long_prompt.as_ref().map(|long| {
        let rates = rates(long.input, long.output, long.cache_read, long.cache_write, long.cache_write_1h)?;
        Ok::<_, String>(LongPrompt { above: long.above, rates })
    });
    let rates = rates(price.input, price.output, price.cache_read, price.cache_write, price.cache_write_1h)?;
    Ok(Price { rates, long: long.transpose()?, per_call })
}

#[cfg(test)]
mod tests {
    use domain::conversation::Usage;
    use domain::cost::ModelCall;

    use super::*;

    fn spend_with(text: &str) -> Result<SpendSettings, String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("settings.toml"), text).unwrap();
        spend_in(dir.path())
    }

    fn spend_in(dir: &std::path::Path) -> Result<SpendSettings, String> {
        let paths = Paths::new(dir);
        SettingsFile::read(&paths).and_then(|file| read(&file, &paths)).map_err(|failed| failed.to_string())
    }

    #[test]
    fn configured_price_replaces_derived_prices() {
        let spend = spend_with("[prices]\n\"claude-haiku-5-5\" = { input = 1.0, output = 2.0 }\n").unwrap();
        let million = 1_000_000;
        let cost = |usage| {
            let call = ModelCall { model: "anthropic:claude-haiku-5-5".to_owned(), usage };
            spend.budget.prices.cost_of(&call).unwrap()
        };
        let hour = Usage { cache_write: million, cache_write_1h: million, ..Usage::default() };
        assert_eq!(cost(hour), Micros::from_dollars(2.0).unwrap());
        assert_eq!(cost(Usage { input: million, ..Usage::default() }), Micros::from_dollars(1.0).unwrap());
    }

    #[test]
    fn price_file_overrides_prices_and_an_invalid_one_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let with = |text: &str| {
            std::fs::write(dir.path().join("prices.toml"), text).unwrap();
            spend_in(dir.path()).unwrap()
        };
        let spend =
            with("\"claude-opus-5-5\" = { input = 7, output = 9 }\n\"openai:\" = { input = 0, output = 0 }");
        assert_eq!(spend.price_file_problem, None);
        assert_eq!(cost(&spend, "anthropic:claude-opus-5-5"), Some(Micros(7_000_000)));
        assert_eq!(cost(&spend, "openai:qwen3"), Some(Micros(0)));
        assert_eq!(cost(&spend, "anthropic:claude-sonnet-5-5"), Some(Micros(2_000_000)));
        for (bad, says) in [
            ("\"claude-opus-5-5\" = { output = 9 }", "line 1"),
            ("\n\"x\" = { input = 1, output = 9, inptu = 3 }", "line 2"),
            ("\"claude-opus-5-5\" = { input = -7, output = 9 }", "claude-opus-5-5"),
            ("[[[", "line 1"),
        ] {
            let spend = with(bad);
            let problem = spend.price_file_problem.clone().unwrap_or_default();
            assert!(problem.starts_with("I can't use prices.toml") && problem.contains(says), "{problem}");
            let of_the_parser = ["missing field", "unknown field", "expected", "unclosed"];
            assert!(!of_the_parser.iter().any(|words| problem.contains(words)), "{problem}");
            assert_eq!(cost(&spend, "anthropic:claude-opus-5-5"), Some(Micros(4_000_000)), "{bad}");
        }
    }

    #[test]
    fn web_search_price_can_be_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let spend = spend_in(dir.path()).unwrap();
        let search = |spend: &SpendSettings, vendor: &str| {
            let call = ModelCall { model: format!("{vendor}:web_search"), usage: Usage::default() };
            spend.budget.prices.cost_of(&call)
        };
        for vendor in ["anthropic", "openai"] {
            assert_eq!(search(&spend, vendor), Micros::from_dollars(0.01), "{vendor}");
        }
        let newer = "\"anthropic:web_search\" = { input = 0, output = 0, per_call = 0.025 }";
        std::fs::write(dir.path().join("prices.toml"), newer).unwrap();
        assert_eq!(search(&spend_in(dir.path()).unwrap(), "anthropic"), Micros::from_dollars(0.025));
    }

    #[test]
    fn list_prices_match_the_vendor() {
        let spend = spend_in(std::path::Path::new("/nowhere")).unwrap();
        let million = 1_000_000;
        let dollars = |model: &str, usage: Usage| {
            spend
                .budget
                .prices
                .cost_of(&ModelCall { model: format!("anthropic:{model}"), usage })
                .map(|micros| micros.0)
        };
        let hour = Usage { cache_write: million, cache_write_1h: million, ..Usage::default() };
        for (model, price) in [
            ("claude-fable-5-2", 16_000_000),
            ("claude-fable-5-1", 20_000_000),
            ("claude-opus-5-5", 8_000_000),
            ("claude-opus-4-8", 10_000_000),
            ("claude-sonnet-5-5", 4_000_000),
            ("claude-sonnet-4-6", 6_000_000),
            ("claude-haiku-5-5", 1_000_000),
            ("claude-haiku-4-5", 2_000_000),
        ] {
            assert_eq!(dollars(model, hour), Some(price), "{model}");
        }
        let read = |input| Usage { input, ..Usage::default() };
        assert_eq!(dollars("claude-haiku-5-5", read(100_000)), Some(10_000));
        assert_eq!(dollars("claude-haiku-5-5", read(100_001)), Some(50_001));
    }

    fn cost(spend: &SpendSettings, model: &str) -> Option<Micros> {
        let usage = Usage { input: 1_000_000, ..Usage::default() };
        spend.budget.prices.cost_of(&ModelCall { model: model.to_owned(), usage })
    }

    /// Each model with a short name has its own price, which a newer model may change.
    #[test]
    fn every_model_with_a_short_name_has_a_price() {
        let file = SettingsFile::read(&Paths::new("/nowhere")).unwrap();
        let spend = read(&file, &Paths::new("/nowhere")).unwrap();
        for model in file.model.aliases.values() {
            assert!(file.prices.contains_key(model), "{model} is not among the prices");
            for name in [format!("anthropic:{model}"), format!("claude:{model}")] {
                assert!(cost(&spend, &name) > Some(Micros(0)), "{name}");
            }
        }
        assert_eq!(cost(&spend, "openai:qwen3"), None);
        assert!(spend.budget.limit.money > Some(Micros(0)) && spend.budget.limit.tokens > Some(0));
    }

    #[test]
    fn user_sets_prices_and_limits_and_invalid_ones_are_reported() {
        let free = "\"openai:\" = { input = 0, output = 0, cache_read = 0, cache_write = 0 }";
        let spend =
            spend_with(&format!("[prices]\n{free}\n[spend]\nunattended_dollars_per_day = \"none\"")).unwrap();
        assert_eq!(cost(&spend, "openai:qwen3"), Some(Micros(0)));
        assert!(cost(&spend, "anthropic:claude-sonnet-9").is_some(), "the usual prices stay");
        assert_eq!(spend.budget.limit.money, None);

        let wrong = |text: &str| spend_with(text).unwrap_err();
        assert!(wrong("[spend]\nunattended_dollars_per_day = -1").contains("write an amount such as 5"));
        assert!(wrong("[spend]\nunattended_tokens_per_day = \"lots\"").contains("cannot be lots"));
        assert!(wrong("[prices]\n\"claude-opus\" = { input = -5 }").contains("claude-opus"));
    }
}
