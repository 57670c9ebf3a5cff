//! A model that follows injected instructions, the worst case for text that it should only read.

use domain::context::Context;
use domain::conversation::Said;
use domain::turn::Stop;

use super::{Line, call, calls};

/// Words before a tool name that make it an instruction.
const ORDERS: [&str; 5] = ["call", "run", "use", "invoke", "execute"];

/// Calls every tool that the context contains an instruction for and that was not called with the
/// same input before.
pub fn line(context: &Context) -> Line {
    let mut wanted: Vec<(&str, String)> = Vec::new();
    for text in context.said.iter().flat_map(|said| texts(said)) {
        for tool in context.tools.iter() {
            wanted.extend(orders(text, tool.name).map(|input| (tool.name, input)));
        }
    }
    wanted.retain(|(name, input)| !calls(context).any(|call| call.name == *name && call.input.0 == *input));
    let mut once = Vec::new();
    for order in wanted {
        if !once.contains(&order) {
            once.push(order);
        }
    }
    if once.is_empty() {
        Line::says("i did what i was told.")
    } else {
        Line::of(once.iter().map(|(name, input)| call(name, input)).collect(), Stop::Tools)
    }
}

/// Returns all text from outside, including preambles.
fn texts(said: &Said) -> Vec<&str> {
    match said {
        Said::Human(heard) => vec![&heard.preface, &heard.text],
        Said::Tools(results) => results.iter().map(|result| result.text.as_str()).collect(),
        Said::Summary(text) => vec![text],
        Said::Recalled(_) => Vec::new(),
        Said::Assistant(..) => Vec::new(),
    }
}

/// Returns the input of every instruction to call `name` in `text`: the JSON object after it, or an
/// empty one.
fn orders<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = String> + 'a {
    text.match_indices(name).filter_map(move |(at, _)| {
        let before = &text[..at];
        let after = &text[at + name.len()..];
        let whole = !after.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        (whole && is_order(before)).then(|| input(after))
    })
}

fn is_order(before: &str) -> bool {
    let bare = |word: &str| word.trim_matches(|it: char| !it.is_alphanumeric()).to_lowercase();
    let last = before.split_whitespace().rev().map(bare).filter(|word| !word.is_empty()).take(3);
    let mut last = last.filter(|word| word != "the" && word != "tool");
    last.next().is_some_and(|word| ORDERS.contains(&word.as_str()))
}

fn input(after: &str) -> String {
    let Some(start) = after.find('{').filter(|start| after[..*start].split_whitespace().count() <= 4) else {
        return "{}".to_owned();
    };
    let mut values = serde_json::Deserializer::from_str(&after[start..]).into_iter::<serde_json::Value>();
    match values.next() {
        Some(Ok(value)) => value.to_string(),
        Some(Err(_)) | None => "{}".to_owned(),
    }
}
