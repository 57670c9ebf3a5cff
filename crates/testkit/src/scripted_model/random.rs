//! Random outcomes, determined by a seed and the context.

use std::hash::{DefaultHasher, Hash, Hasher};

use domain::context::Context;
use domain::conversation::{Block, EntryContent};
use domain::failure::{DeclineReason, Failure};
use domain::rng::Rng;
use domain::tool::ToolSpec;
use domain::turn::StopReason;
use serde_json::{Map, Value, json};

use super::{ModelOutcome, call};

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
pub fn next_outcome(seed: u64, context: &Context) -> ModelOutcome {
    let mut hash = DefaultHasher::new();
    format!("{:?}", context.entries).hash(&mut hash);
    let hash = hash.finish();
    let mut rng = Rng::new(seed ^ hash);
    // After results it mostly answers, so that turns end.
    let ran = matches!(context.entries.last().map(|said| &**said), Some(EntryContent::Tools(_)));
    match (pick(&mut rng, 20), ran) {
        (0..10, _) | (10..15, true) => ModelOutcome::text(&random_text(&mut rng)),
        (10..13, false) => ModelOutcome::blocks(
            with_call_ids(random_calls(&mut rng, &context.tools), hash),
            StopReason::Tools,
        ),
        (13..15, false) => {
            ModelOutcome::blocks(with_call_ids(vec![call("no_such_tool", "{}")], hash), StopReason::Tools)
        }
        (15, _) => ModelOutcome::blocks(Vec::new(), StopReason::Finished),
        (16, _) => ModelOutcome::blocks(vec![Block::Text(random_text(&mut rng))], StopReason::Length),
        (17, _) => ModelOutcome::blocks(Vec::new(), StopReason::Refusal(DeclineReason::Unstated)),
        (_, _) => ModelOutcome::Fail(random_text(&mut rng), random_failure(&mut rng)),
    }
}

/// Assigns call ids that are unique even across unrelated conversations.
fn with_call_ids(mut blocks: Vec<Block>, hash: u64) -> Vec<Block> {
    for (number, block) in blocks.iter_mut().enumerate() {
        if let Block::Call(call) = block {
            call.id = format!("call_{hash:x}_{number}");
        }
    }
    blocks
}

fn pick(rng: &mut Rng, below: usize) -> usize {
    usize::try_from(rng.next_u64() >> 33).unwrap_or_default() % below.max(1)
}

fn random_text(rng: &mut Rng) -> String {
    let count = 1 + pick(rng, 30);
    let words: Vec<_> = (0..count).map(|_| WORDS[pick(rng, WORDS.len())]).collect();
    words.join(" ")
}

/// Returns one to three calls, with valid and invalid inputs.
fn random_calls(rng: &mut Rng, tools: &[ToolSpec]) -> Vec<Block> {
    let count = 1 + pick(rng, 3);
    let calls = (0..count).map(|_| match (tools.get(pick(rng, tools.len())), pick(rng, 4)) {
        (Some(tool), 0) => call(tool.name, r#"{"nonsense":[1,null]}"#),
        (Some(tool), _) => call(tool.name, &valid_input(rng, tool.schema)),
        (None, _) => call("no_such_tool", "{}"),
    });
    calls.collect()
}

/// Returns an input with a value of the right type for every required field.
fn valid_input(rng: &mut Rng, schema: &str) -> String {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let names = required.iter().filter_map(Value::as_str);
    let fields: Map<_, _> =
        names.map(|name| (name.to_owned(), random_value(rng, &schema["properties"][name]))).collect();
    Value::Object(fields).to_string()
}

fn random_value(rng: &mut Rng, schema: &Value) -> Value {
    if let Some(choices) = schema["enum"].as_array().filter(|choices| !choices.is_empty()) {
        return choices[pick(rng, choices.len())].clone();
    }
    match schema["type"].as_str().unwrap_or_default() {
        "integer" | "number" => json!(pick(rng, 100)),
        "boolean" => json!(pick(rng, 2) == 0),
        "array" => json!([]),
        "object" => json!({}),
        _ => json!(random_text(rng)),
    }
}

fn random_failure(rng: &mut Rng) -> Failure {
    let reason = "as the dice fell".to_owned();
    match pick(rng, 6) {
        0 => Failure::Unreachable(reason),
        1 => Failure::Overloaded(Some(1)),
        2 => Failure::VendorError(reason),
        3 => Failure::InvalidResponse(reason),
        4 => Failure::Rejected(reason),
        _ => Failure::CutOff(reason),
    }
}
