//! Random outcomes, determined by a seed and the context.

use std::hash::{DefaultHasher, Hash, Hasher};

use domain::context::Context;
use domain::conversation::{Block, Said};
use domain::dice::Dice;
use domain::failure::{Declined, Failure};
use domain::tool::ToolSpec;
use domain::turn::Stop;
use serde_json::{Map, Value, json};

use super::{Line, call};

const WORDS: [&str; 12] = [
    "yes",
    "maybe",
    "tomorrow",
    "né",
    "🦀",
    "*bold*",
    "<@1>",
    "https://example.org",
    "…",
    "done",
    "no",
    "\n",
];

/// Returns the outcome for `seed` and `context`.
pub fn line(seed: u64, context: &Context) -> Line {
    let mut print = DefaultHasher::new();
    format!("{:?}", context.said).hash(&mut print);
    let print = print.finish();
    let mut dice = Dice::new(seed ^ print);
    // After results it mostly answers, so that turns end.
    let ran = matches!(context.said.last().map(|said| &**said), Some(Said::Tools(_)));
    match (pick(&mut dice, 20), ran) {
        (0..10, _) | (10..15, true) => Line::says(&words(&mut dice)),
        (10..13, false) => Line::of(named(calls(&mut dice, &context.tools), print), Stop::Tools),
        (13..15, false) => Line::of(named(vec![call("no_such_tool", "{}")], print), Stop::Tools),
        (15, _) => Line::of(Vec::new(), Stop::Said),
        (16, _) => Line::of(vec![Block::Text(words(&mut dice))], Stop::Length),
        (17, _) => Line::of(Vec::new(), Stop::Refusal(Declined::Unstated)),
        (_, _) => Line::Fails(words(&mut dice), failure(&mut dice)),
    }
}

/// Assigns call ids that are unique even across unrelated conversations.
fn named(mut blocks: Vec<Block>, print: u64) -> Vec<Block> {
    for (number, block) in blocks.iter_mut().enumerate() {
        if let Block::Call(call) = block {
            call.id = format!("call_{print:x}_{number}");
        }
    }
    blocks
}

fn pick(dice: &mut Dice, below: usize) -> usize {
    usize::try_from(dice.roll() >> 33).unwrap_or_default() % below.max(1)
}

fn words(dice: &mut Dice) -> String {
    let count = 1 + pick(dice, 30);
    let words: Vec<_> = (0..count).map(|_| WORDS[pick(dice, WORDS.len())]).collect();
    words.join(" ")
}

/// Returns one to three calls, with valid and invalid inputs.
fn calls(dice: &mut Dice, tools: &[ToolSpec]) -> Vec<Block> {
    let count = 1 + pick(dice, 3);
    let calls = (0..count).map(|_| match (tools.get(pick(dice, tools.len())), pick(dice, 4)) {
        (Some(tool), 0) => call(tool.name, r#"{"nonsense":[1,null]}"#),
        (Some(tool), _) => call(tool.name, &fitting(dice, tool.schema)),
        (None, _) => call("no_such_tool", "{}"),
    });
    calls.collect()
}

/// Returns an input with a value of the right type for every required field.
fn fitting(dice: &mut Dice, schema: &str) -> String {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let names = required.iter().filter_map(Value::as_str);
    let fields: Map<_, _> =
        names.map(|name| (name.to_owned(), value(dice, &schema["properties"][name]))).collect();
    Value::Object(fields).to_string()
}

fn value(dice: &mut Dice, schema: &Value) -> Value {
    if let Some(choices) = schema["enum"].as_array().filter(|choices| !choices.is_empty()) {
        return choices[pick(dice, choices.len())].clone();
    }
    match schema["type"].as_str().unwrap_or_default() {
        "integer" | "number" => json!(pick(dice, 100)),
        "boolean" => json!(pick(dice, 2) == 0),
        "array" => json!([]),
        "object" => json!({}),
        _ => json!(words(dice)),
    }
}

fn failure(dice: &mut Dice) -> Failure {
    let why = "as the dice fell".to_owned();
    match pick(dice, 6) {
        0 => Failure::Unreachable(why),
        1 => Failure::Busy(Some(1)),
        2 => Failure::Broken(why),
        3 => Failure::Garbled(why),
        4 => Failure::Rejected(why),
        _ => Failure::CutOff(why),
    }
}
