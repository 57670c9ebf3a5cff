//! Prices: what a model costs, found by how its name begins.

use super::{Call, Micros};
use crate::conversation::Usage;

/// What a million tokens of each kind cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// Read in full.
    pub input: Micros,
    /// Produced.
    pub output: Micros,
    /// Read from the cache.
    pub cache_read: Micros,
    /// Written to the cache.
    pub cache_write: Micros,
}

impl Price {
    /// What `usage` costs, rounded up: a limit that errs does not err on the dear side.
    pub fn of(&self, usage: Usage) -> Micros {
        let part = |tokens: u64, price: Micros| u128::from(tokens) * u128::from(price.0);
        let sum = part(usage.input, self.input)
            + part(usage.output, self.output)
            + part(usage.cache_read, self.cache_read)
            + part(usage.cache_write, self.cache_write);
        Micros(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }

    /// The most it costs to read so many tokens, in whichever way, and to give so many.
    fn most(&self, read: u64, gives: u64) -> Micros {
        let input = self.input.max(self.cache_write).max(self.cache_read);
        Self { input, ..*self }.of(Usage { input: read, output: gives, ..Usage::default() })
    }
}

/// What models cost, each by the beginning of its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices(Vec<(String, Price)>);

impl Prices {
    /// These prices.
    pub fn new(prices: impl IntoIterator<Item = (String, Price)>) -> Self {
        Self(prices.into_iter().collect())
    }

    /// What `call` cost; nothing, if nobody knows the price of its model.
    pub fn of(&self, call: &Call) -> Option<Micros> {
        self.price(&call.model).map(|price| price.of(call.usage))
    }

    /// The most that a call of `model` costs which reads so many tokens and gives so many. The claude program says only
    /// afterwards which model it was: until then it is the dearest that it can mean.
    pub fn most(&self, model: &str, read: u64, gives: u64) -> Option<Micros> {
        let dearest = |name: &str| {
            let named = self.0.iter().filter(|(begin, _)| begin.contains(name));
            named.map(|(_, price)| price.most(read, gives)).max()
        };
        let known = self.price(model).map(|price| price.most(read, gives));
        let short = model.strip_prefix("claude").filter(|rest| rest.is_empty() || rest.starts_with(':'));
        known.or_else(|| {
            short.and_then(|short| dearest(short.trim_start_matches(':')).or_else(|| dearest("")))
        })
    }

    /// The price under the longest beginning of `model`, with its vendor before it or without.
    fn price(&self, model: &str) -> Option<&Price> {
        let bare = model.split_once(':').map_or(model, |(_, bare)| bare);
        let fits = |begin: &str| model.starts_with(begin) || bare.starts_with(begin);
        let found = self.0.iter().filter(|(begin, _)| fits(begin)).max_by_key(|(begin, _)| begin.len());
        found.map(|(_, price)| price)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Price {
        let micros = |dollars: u64| Micros(dollars * 1_000_000);
        Price {
            input: micros(input),
            output: micros(output),
            cache_read: micros(cache_read),
            cache_write: micros(cache_write),
        }
    }

    /// E4: what the claude program calls by a short name costs at most what the dearest of that name does.
    #[test]
    fn a_short_name_is_taken_for_the_dearest_that_it_can_mean() {
        let prices = Prices::new([
            ("claude-opus".to_owned(), price(15, 75, 0, 0)),
            ("claude-haiku".to_owned(), price(1, 5, 0, 0)),
        ]);
        let check = |model: &str, dollars: Option<u64>| {
            let most = dollars.map(|dollars| Micros(dollars * 1_000_000));
            assert_eq!(prices.most(model, 1_000_000, 0), most, "{model}");
        };
        check("claude:haiku", Some(1));
        check("claude:opus", Some(15));
        check("claude:new", Some(15));
        check("claude", Some(15));
        check("openai:unknown", None);
        check("claudette", None);
    }

    #[test]
    fn the_longest_beginning_decides_and_an_unknown_model_has_no_price() {
        let prices = Prices::new([
            ("claude-opus".to_owned(), price(15, 75, 0, 0)),
            ("claude-opus-5".to_owned(), price(5, 25, 0, 0)),
            ("openai:".to_owned(), Price::default()),
        ]);
        let check = |model: &str, cost: Option<u64>| {
            let usage = Usage { input: 1_000_000, ..Usage::default() };
            let call = Call { model: model.to_owned(), usage };
            assert_eq!(prices.of(&call), cost.map(|dollars| Micros(dollars * 1_000_000)), "{model}");
        };
        check("anthropic:claude-opus-5-5", Some(5));
        check("claude-opus-4-1", Some(15));
        check("openai:qwen3:8b", Some(0));
        check("anthropic:claude-fable", None);
        check("offline", None);
    }

    #[test]
    fn each_kind_of_token_has_its_own_price_and_fractions_are_rounded_up() {
        let usage = Usage { input: 1_000, output: 100, cache_read: 10_000, cache_write: 2_000 };
        assert_eq!(price(3, 15, 1, 4).of(usage), Micros(3_000 + 1_500 + 10_000 + 8_000));
        let cheap = Price { input: Micros(1), ..Price::default() };
        assert_eq!(cheap.of(usage), Micros(1));
        let most = Usage { input: u64::MAX, output: u64::MAX, cache_read: u64::MAX, cache_write: u64::MAX };
        assert_eq!(price(1_000, 1_000, 1_000, 1_000).of(most), Micros(u64::MAX));
    }

    /// E4: no call costs more than the most that was counted for it, in whichever way it is read.
    #[test]
    fn the_most_of_a_call_is_read_in_the_dearest_way() {
        for price in [price(3, 15, 1, 4), price(3, 15, 1, 0), price(1, 15, 9, 1)] {
            for (input, cache_read) in [(0, 0), (1_000, 0), (0, 1_000), (400, 300)] {
                let cache_write = 1_000 - input - cache_read;
                let usage = Usage { input, cache_read, cache_write, output: 100 };
                assert!(price.of(usage) <= price.most(1_000, 100), "{usage:?} at {price:?}");
            }
        }
        assert_eq!(price(3, 15, 1, 4).most(1_000, 100), Micros(4_000 + 1_500));
    }
}
