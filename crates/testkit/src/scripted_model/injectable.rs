//! A model that follows injected instructions, the worst case for text that it should only read.

use domain::context::Context;
use domain::conversation::EntryContent;
use domain::turn::StopReason;

use super::{ModelOutcome, call, calls};

/// Words before a tool name that make it an instruction.
const INSTRUCTION_WORDS: [&str; 5] = ["call", "run", "use", "invoke", "execute"];

/// Calls every tool that the context contains an instruction for and that was not called with the
/// same input before.
pub fn next_outcome(context: &Context) -> ModelOutcome {
    let mut instructions: Vec<(&str, String)> = Vec::new();
    for text in context.entries.iter().flat_map(|said| outside_texts(said)) {
        for tool in context.tools.iter() {
            instructions.extend(instruction_inputs(text, tool.name).map(|input| (tool.name, input)));
        }
    }
    instructions
        .retain(|(name, input)| !calls(context).any(|call| call.name == *name && call.input.0 == *input));
    let mut unique = Vec::new();
    for instruction in instructions {
        if !unique.contains(&instruction) {
            unique.push(instruction);
        }
    }
    if unique.is_empty() {
        ModelOutcome::text("i did what i was told.")
    } else {
        ModelOutcome::blocks(
            unique.iter().map(|(name, input)| call(name, input)).collect(),
            StopReason::Tools,
        )
    }
}

/// Returns all text from outside, including preambles.
fn outside_texts(said: &EntryContent) -> Vec<&str> {
    match said {
        EntryContent::User(heard) => vec![&heard.preface, &heard.text],
        EntryContent::Tools(results) => results.iter().map(|result| result.text.as_str()).collect(),
        EntryContent::Summary(text) => vec![text],
        EntryContent::SummaryRecalled(_) => Vec::new(),
        EntryContent::Assistant(..) => Vec::new(),
    }
}

/// Returns the input of every instruction to call `name` in `text`: the JSON object after it, or an
/// empty one.
fn instruction_inputs<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = String> + 'a {
    text.match_indices(name).filter_map(move |(at, _)| {
        let before = &text[..at];
        let after = &text[at + name.len()..];
        let whole = !after.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        (whole && is_instruction(before)).then(|| input(after))
    })
}

fn is_instruction(before: &str) -> bool {
    let normalized =
        |word: &str| word.trim_matches(|character: char| !character.is_alphanumeric()).to_lowercase();
    let last = before.split_whitespace().rev().map(normalized).filter(|word| !word.is_empty()).take(3);
    let mut last = last.filter(|word| word != "the" && word != "tool");
    last.next().is_some_and(|word| INSTRUCTION_WORDS.contains(&word.as_str()))
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
