//! What may be spent, and what models cost.

use std::sync::Arc;

use domain::cost::{Limit, Micros, Price, Prices, Purse, Rates};
use domain::turn;

use super::file::{self, File, Most};
use crate::exit::Failed;

/// What may be spent.
#[derive(Clone, Debug)]
pub struct Spend {
    /// Prices, and what unattended work may cost.
    pub purse: Purse,
    /// How far one turn may go.
    pub turn: turn::Limits,
}

/// Reads it.
pub fn read(file: &File) -> Result<Spend, Failed> {
    let spend = &file.spend;
    let (dollars, tokens) = ("unattended_dollars_per_day", "unattended_tokens_per_day");
    let limit = Limit {
        money: most(dollars, &spend.unattended_dollars_per_day, Micros::dollars)?,
        tokens: most(tokens, &spend.unattended_tokens_per_day, whole)?,
    };
    let prices = file.prices.iter().map(|(name, price)| Ok((name.clone(), priced(name, price)?)));
    let prices = Prices::new(prices.collect::<Result<Vec<_>, Failed>>()?);
    let turn = turn::Limits { tokens: spend.turn_tokens, ..turn::Limits::HOUSE };
    let reply = u64::from(file.model.max_tokens);
    let purse = Purse { prices: Arc::new(prices), limit, reply, ..Purse::default() };
    Ok(Spend { purse, turn })
}

fn most<T>(name: &str, most: &Most, read: impl Fn(f64) -> Option<T>) -> Result<Option<T>, Failed> {
    let (read, given) = match most {
        Most::Word(word) if word == "none" => return Ok(None),
        Most::Word(word) => (None, word.clone()),
        Most::Amount(amount) => (read(*amount), amount.to_string()),
    };
    read.map(Some).ok_or_else(|| {
        Failed::Configuration(format!(
            "settings.toml: spend.{name} cannot be {given}. write an amount such as 5, or \"none\" for no limit."
        ))
    })
}

fn whole(amount: f64) -> Option<u64> {
    (amount.is_finite() && (0.0..1e15).contains(&amount)).then_some(amount as u64)
}

fn priced(name: &str, price: &file::Price) -> Result<Price, Failed> {
    let read = |dollars: f64| {
        Micros::dollars(dollars).ok_or_else(|| {
            Failed::Configuration(format!(
                "settings.toml: a price of \"{name}\" is {dollars}. write dollars for a million tokens, such as 3.0."
            ))
        })
    };
    let rates = Rates {
        input: read(price.input)?,
        output: read(price.output)?,
        cache_read: read(price.cache_read)?,
        cache_write: read(price.cache_write)?,
        cache_write_1h: read((2.0 * price.input).max(price.cache_write))?,
    };
    Ok(Price { rates, long: None })
}

#[cfg(test)]
mod tests {
    use domain::conversation::Usage;
    use domain::cost::Call;
    use journal::Paths;

    use super::*;

    fn with(text: &str) -> Result<Spend, String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("settings.toml"), text).unwrap();
        File::read(&Paths::new(dir.path())).and_then(|file| read(&file)).map_err(|failed| failed.to_string())
    }

    fn cost(spend: &Spend, model: &str) -> Option<Micros> {
        let usage = Usage { input: 1_000_000, ..Usage::default() };
        spend.purse.prices.of(&Call { model: model.to_owned(), usage })
    }

    /// A new model under a short name asks for its own price: that of the one before it may be another.
    #[test]
    fn every_model_that_has_a_short_name_has_a_price() {
        let file = File::read(&Paths::new("/nowhere")).unwrap();
        let spend = read(&file).unwrap();
        for model in file.model.aliases.values() {
            assert!(file.prices.contains_key(model), "{model} is not among the prices");
            for name in [format!("anthropic:{model}"), format!("claude:{model}")] {
                assert!(cost(&spend, &name) > Some(Micros(0)), "{name}");
            }
        }
        assert_eq!(cost(&spend, "openai:qwen3"), None);
        assert!(spend.purse.limit.money > Some(Micros(0)) && spend.purse.limit.tokens > Some(0));
    }

    #[test]
    fn the_human_sets_prices_and_limits_and_hears_what_is_wrong_with_them() {
        let free = "\"openai:\" = { input = 0, output = 0, cache_read = 0, cache_write = 0 }";
        let spend =
            with(&format!("[prices]\n{free}\n[spend]\nunattended_dollars_per_day = \"none\"")).unwrap();
        assert_eq!(cost(&spend, "openai:qwen3"), Some(Micros(0)));
        assert!(cost(&spend, "anthropic:claude-sonnet-9").is_some(), "the usual prices stay");
        assert_eq!(spend.purse.limit.money, None);

        let wrong = |text: &str| with(text).unwrap_err();
        assert!(wrong("[spend]\nunattended_dollars_per_day = -1").contains("write an amount such as 5"));
        assert!(wrong("[spend]\nunattended_tokens_per_day = \"lots\"").contains("cannot be lots"));
        assert!(wrong("[prices]\n\"claude-opus\" = { input = -5 }").contains("claude-opus"));
    }
}
