//! Prices of models, looked up by the prefix of the model name.

use super::{Micros, ModelCall};
use crate::conversation::Usage;

/// The price of a million tokens of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Tokens read without the cache.
    pub input: Micros,
    /// Tokens written by the model.
    pub output: Micros,
    /// Tokens read from the cache.
    pub cache_read: Micros,
    /// Tokens written to the cache for five minutes.
    pub cache_write: Micros,
    /// Tokens written to the cache for one hour.
    pub cache_write_1h: Micros,
}

impl Rates {
    /// Returns the cost of `usage`, rounded up so that a limit is never exceeded by rounding.
    fn cost(&self, usage: Usage) -> Micros {
        let part = |tokens: u64, price: Micros| u128::from(tokens) * u128::from(price.0);
        let for_an_hour = usage.cache_write_1h.min(usage.cache_write);
        let sum = part(usage.input, self.input)
            + part(usage.output, self.output)
            + part(usage.cache_read, self.cache_read)
            + part(usage.cache_write - for_an_hour, self.cache_write)
            + part(for_an_hour, self.cache_write_1h);
        Micros(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }

    /// Returns the highest cost of a call that reads `read` tokens, cached or not, and writes
    /// `output`.
    fn max_cost(&self, read: u64, output: u64) -> Micros {
        let input = self.input.max(self.cache_write).max(self.cache_write_1h).max(self.cache_read);
        Self { input, ..*self }.cost(Usage { input: read, output, ..Usage::default() })
    }
}

/// The price of a model: its rates, and other rates for calls with long prompts where the vendor has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// The rates of a call, unless `long` applies to it.
    pub rates: Rates,
    /// The rates of a call with a long prompt.
    pub long: Option<LongPrompt>,
    /// The price of each call in addition to its tokens, such as for web searches.
    pub per_call: Micros,
}

/// The rates of calls whose prompt is longer than a threshold. They apply to all tokens of such a call, those of the
/// reply included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongPrompt {
    /// The threshold: a prompt of exactly this many tokens (`Usage::total_input`) is not long.
    pub above: u64,
    /// The rates of a call above it.
    pub rates: Rates,
}

impl Price {
    /// Returns the cost of one call with `usage`. The sum of several calls must not be priced at once: the length of
    /// each prompt decides which rates apply.
    pub fn cost(&self, usage: Usage) -> Micros {
        let mut cost = match &self.long {
            Some(long) if usage.total_input() > long.above => long.rates.cost(usage),
            Some(_) | None => self.rates.cost(usage),
        };
        cost += self.per_call;
        cost
    }

    /// Returns the highest cost of a call that reads at most `read` tokens and writes at most
    /// `output`.
    fn max_cost(&self, read: u64, output: u64) -> Micros {
        let short = |read: u64| self.rates.max_cost(read, output);
        let mut most = match &self.long {
            Some(long) if read > long.above => long.rates.max_cost(read, output).max(short(long.above)),
            Some(_) | None => short(read),
        };
        most += self.per_call;
        most
    }
}

/// Prices by the prefix of the model name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices(Vec<(String, Price)>);

impl Prices {
    pub fn new(prices: impl IntoIterator<Item = (String, Price)>) -> Self {
        Self(prices.into_iter().collect())
    }

    /// Returns the cost of `call`; `None` if the price is unknown.
    pub fn cost_of(&self, call: &ModelCall) -> Option<Micros> {
        self.price(&call.model).map(|price| price.cost(call.usage))
    }

    /// Returns the highest cost of a call of `model` with this many tokens. The claude program
    /// reports the exact model only afterwards; until then the most expensive model that the name
    /// can mean is used.
    pub fn max_cost(&self, model: &str, read: u64, output: u64) -> Option<Micros> {
        let dearest = |name: &str| {
            let named = self.0.iter().filter(|(begin, _)| begin.contains(name));
            named.map(|(_, price)| price.max_cost(read, output)).max()
        };
        let known = self.price(model).map(|price| price.max_cost(read, output));
        let short = model.strip_prefix("claude").filter(|rest| rest.is_empty() || rest.starts_with(':'));
        known.or_else(|| {
            short.and_then(|short| dearest(short.trim_start_matches(':')).or_else(|| dearest("")))
        })
    }

    /// Returns the number of tokens that a prompt for `model` may have before it costs more for each of them.
    pub fn long_prompt(&self, model: &str) -> Option<u64> {
        self.price(model)?.long.as_ref().map(|long| long.above)
    }

    /// Returns the price with the longest matching prefix, with or without the vendor.
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
        let rates = Rates {
            input: micros(input),
            output: micros(output),
            cache_read: micros(cache_read),
            cache_write: micros(cache_write),
            cache_write_1h: micros(cache_write),
        };
        Price { rates, ..Price::default() }
    }

    /// E4: A short name of the claude program costs the most expensive model that it can mean.
    #[test]
    fn short_name_costs_its_most_expensive_model() {
        let prices = Prices::new([
            ("claude-opus".to_owned(), price(15, 75, 0, 0)),
            ("claude-haiku".to_owned(), price(1, 5, 0, 0)),
        ]);
        let check = |model: &str, dollars: Option<u64>| {
            let most = dollars.map(|dollars| Micros(dollars * 1_000_000));
            assert_eq!(prices.max_cost(model, 1_000_000, 0), most, "{model}");
        };
        check("claude:haiku", Some(1));
        check("claude:opus", Some(15));
        check("claude:new", Some(15));
        check("claude", Some(15));
        check("openai:unknown", None);
        check("claudette", None);
    }

    #[test]
    fn longest_prefix_wins_and_unknown_models_have_no_price() {
        let prices = Prices::new([
            ("claude-opus".to_owned(), price(15, 75, 0, 0)),
            ("claude-opus-5".to_owned(), price(5, 25, 0, 0)),
            ("openai:".to_owned(), Price::default()),
        ]);
        let check = |model: &str, cost: Option<u64>| {
            let usage = Usage { input: 1_000_000, ..Usage::default() };
            let call = ModelCall { model: model.to_owned(), usage };
            assert_eq!(prices.cost_of(&call), cost.map(|dollars| Micros(dollars * 1_000_000)), "{model}");
        };
        check("anthropic:claude-opus-5-5", Some(5));
        check("claude-opus-4-1", Some(15));
        check("openai:qwen3:8b", Some(0));
        check("anthropic:claude-fable", None);
        check("offline", None);
    }

    #[test]
    fn each_kind_of_token_has_its_own_price_and_fractions_are_rounded_up() {
        let usage =
            Usage { input: 1_000, output: 100, cache_read: 10_000, cache_write: 2_000, cache_write_1h: 0 };
        assert_eq!(price(3, 15, 1, 4).cost(usage), Micros(3_000 + 1_500 + 10_000 + 8_000));
        let cheap = Price { rates: Rates { input: Micros(1), ..Rates::default() }, ..Price::default() };
        assert_eq!(cheap.cost(usage), Micros(1));
        let most = Usage {
            input: u64::MAX,
            output: u64::MAX,
            cache_read: u64::MAX,
            cache_write: u64::MAX,
            cache_write_1h: u64::MAX,
        };
        assert_eq!(price(1_000, 1_000, 1_000, 1_000).cost(most), Micros(u64::MAX));
    }

    #[test]
    fn a_price_per_call_is_added_to_that_of_the_tokens() {
        let search = Price { per_call: Micros(10_000), ..Price::default() };
        assert_eq!(search.cost(Usage::default()), Micros(10_000));
        let both = Price { per_call: Micros(10_000), ..price(1, 5, 0, 0) };
        assert_eq!(both.cost(Usage { input: 1_000, ..Usage::default() }), Micros(11_000));
        assert_eq!(both.max_cost(1_000, 0), Micros(11_000));
    }

    #[test]
    fn tokens_cached_for_an_hour_have_a_price_of_their_own() {
        let rates =
            Rates { cache_write: Micros(5_000_000), cache_write_1h: Micros(8_000_000), ..Rates::default() };
        let price = Price { rates, ..Price::default() };
        let cost = |cache_write, cache_write_1h| {
            price.cost(Usage { cache_write, cache_write_1h, ..Usage::default() })
        };
        assert_eq!(cost(1_000, 0), Micros(5_000));
        assert_eq!(cost(1_000, 400), Micros(600 * 5 + 400 * 8));
        assert_eq!(cost(1_000, 1_000), Micros(8_000));
        assert_eq!(cost(1_000, 9_000), Micros(8_000), "a part larger than the whole counts as the whole");
        assert_eq!(price.max_cost(1_000, 0), Micros(8_000));
    }

    #[test]
    fn a_long_prompt_is_priced_by_its_own_rates() {
        let long = LongPrompt { above: 1_000, rates: price(5, 25, 1, 6).rates };
        let tiered = Price { long: Some(long), ..price(1, 5, 0, 1) };
        let usage = |input, cache_read| Usage { input, cache_read, output: 100, ..Usage::default() };
        assert_eq!(tiered.cost(usage(600, 400)), Micros(600 + 500), "1,000 tokens are not above 1,000");
        assert_eq!(tiered.cost(usage(601, 400)), Micros(601 * 5 + 400 + 2_500));
        assert_eq!(tiered.max_cost(1_000, 100), Micros(1_000 + 500));
        assert_eq!(tiered.max_cost(1_001, 100), Micros(1_001 * 6 + 2_500));
        let cheaper = LongPrompt { above: 1_000, rates: price(0, 0, 0, 0).rates };
        let falling = Price { long: Some(cheaper), ..price(1, 5, 0, 1) };
        assert_eq!(
            falling.max_cost(2_000, 100),
            Micros(1_000 + 500),
            "a shorter prompt can be the dearer one"
        );
    }

    /// E4: No call costs more than the computed maximum, however its prompt is cached.
    #[test]
    fn maximum_covers_every_way_of_caching() {
        for price in [price(3, 15, 1, 4), price(3, 15, 1, 0), price(1, 15, 9, 1)] {
            for (input, cache_read) in [(0, 0), (1_000, 0), (0, 1_000), (400, 300)] {
                let cache_write = 1_000 - input - cache_read;
                let cache_write_1h = cache_write / 2;
                let usage = Usage { input, cache_read, cache_write, cache_write_1h, output: 100 };
                assert!(price.cost(usage) <= price.max_cost(1_000, 100), "{usage:?} at {price:?}");
            }
        }
        assert_eq!(price(3, 15, 1, 4).max_cost(1_000, 100), Micros(4_000 + 1_500));
    }
}
