//! Renders a conversation as plain text for models that keep their own state and have not read it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::conversation::{Block, Said};
use crate::tool::Outcome;

/// The most characters of a transcript. The newest part is sent, and the rest counted.
pub const RETOLD_CHARS: usize = 60_000;

const OPENING: &str = "[what was said in this conversation, and is not in your memory]";
const CLOSING: &str = "[end of what was said]";

/// Returns `said` as plain text; empty if there is no text.
pub fn retold(said: &[Arc<Said>]) -> String {
    let mut names = HashMap::new();
    let told: Vec<String> = said.iter().flat_map(|said| lines(said, &mut names)).collect();
    let told = told.join("\n");
    if told.is_empty() {
        return told;
    }
    let too_many = told.chars().count().saturating_sub(RETOLD_CHARS);
    if too_many == 0 {
        return format!("{OPENING}\n{told}\n{CLOSING}");
    }
    let newest: String = told.chars().skip(too_many).collect();
    format!("{OPENING}\n[{too_many} characters before this were left out]\n{newest}\n{CLOSING}")
}

fn lines<'a>(said: &'a Said, names: &mut HashMap<&'a str, &'a str>) -> Vec<String> {
    match said {
        Said::Human(heard) => vec![format!("human: {}", super::heard(heard))],
        Said::Assistant(blocks, _) => blocks.iter().filter_map(|block| line(block, names)).collect(),
        Said::Tools(results) => {
            let name = |id: &str| names.get(id).copied().unwrap_or("a tool").to_owned();
            let line = |result: &crate::tool::ToolResult| match &result.outcome {
                Outcome::Done | Outcome::Shown(_) => {
                    format!("{} answered: {}", name(&result.call), result.text)
                }
                Outcome::Failed => format!("{} failed: {}", name(&result.call), result.text),
                Outcome::Denied => format!("{} was denied: {}", name(&result.call), result.text),
            };
            results.iter().map(line).collect()
        }
        Said::Summary(text) => vec![super::summary(text)],
        Said::Recalled(_) => Vec::new(),
    }
}

fn line<'a>(block: &'a Block, names: &mut HashMap<&'a str, &'a str>) -> Option<String> {
    match block {
        Block::Text(text) if text.trim().is_empty() => None,
        Block::Text(text) => Some(format!("you: {text}")),
        Block::Call(call) => {
            names.insert(&call.id, &call.name);
            Some(format!("you called {} with {}", call.name, call.input.0))
        }
        Block::Opaque(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Heard, Json, Opaque, Reach};
    use crate::tool::{ToolCall, ToolResult};

    fn human(text: &str) -> Arc<Said> {
        Arc::new(Said::Human(Heard { preface: String::new(), text: text.to_owned(), images: Vec::new() }))
    }

    #[test]
    fn everything_that_can_be_said_is_told_again_in_its_order() {
        let call = |id: &str| {
            let id = id.to_owned();
            let name = "note".to_owned();
            Block::Call(ToolCall { id, name, input: Json("{}".to_owned()) })
        };
        let result = |id: &str, outcome| ToolResult {
            call: id.to_owned(),
            text: "so".to_owned(),
            outcome,
            label: crate::label::Label::PLAIN,
        };
        let blocks = vec![Block::Text("sure".to_owned()), Block::Opaque(Opaque::anthropic("{}")), call("a")];
        let said = [
            Arc::new(Said::Summary("tea".to_owned())),
            human("note it"),
            Arc::new(Said::Assistant(blocks, Reach::Whole)),
            Arc::new(Said::Tools(vec![result("a", Outcome::Done), result("x", Outcome::Failed)])),
        ];
        let expected = "[what was said in this conversation, and is not in your memory]\n\
            [summary of our conversation until here]\ntea\nhuman: note it\nyou: sure\n\
            you called note with {}\nnote answered: so\na tool failed: so\n[end of what was said]";
        assert_eq!(retold(&said), expected);
        assert_eq!(retold(&[]), "");
    }

    #[test]
    fn a_long_past_is_cut_at_its_beginning_and_says_so() {
        let told = retold(&[human(&"é".repeat(RETOLD_CHARS)), human("new")]);
        assert!(told.contains("[18 characters before this were left out]\né"), "{}", &told[..200]);
        assert!(told.ends_with("human: new\n[end of what was said]"));
    }
}
