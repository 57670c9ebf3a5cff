//! Renders a conversation as plain text for models that keep their own state and have not read it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::conversation::{Block, EntryContent};
use crate::tool::Outcome;

/// The most characters of a transcript. The newest part is sent, and the rest counted.
pub const MAX_TRANSCRIPT_CHARS: usize = 60_000;

const HEADER: &str = "[what was said in this conversation, and is not in your memory]";
const FOOTER: &str = "[end of what was said]";

/// Returns `said` as plain text; empty if there is no text.
pub fn transcript(said: &[Arc<EntryContent>]) -> String {
    let mut names = HashMap::new();
    let text: Vec<String> = said.iter().flat_map(|said| entry_lines(said, &mut names)).collect();
    let text = text.join("\n");
    if text.is_empty() {
        return text;
    }
    let too_many = text.chars().count().saturating_sub(MAX_TRANSCRIPT_CHARS);
    if too_many == 0 {
        return format!("{HEADER}\n{text}\n{FOOTER}");
    }
    let newest: String = text.chars().skip(too_many).collect();
    format!("{HEADER}\n[{too_many} characters before this were left out]\n{newest}\n{FOOTER}")
}

fn entry_lines<'a>(said: &'a EntryContent, names: &mut HashMap<&'a str, &'a str>) -> Vec<String> {
    match said {
        EntryContent::User(heard) => vec![format!("human: {}", super::user_text(heard))],
        EntryContent::Assistant(blocks, _) => {
            blocks.iter().filter_map(|block| block_line(block, names)).collect()
        }
        EntryContent::Tools(results) => {
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
        EntryContent::Summary(text) => vec![super::summary(text)],
        EntryContent::SummaryRecalled(_) => Vec::new(),
    }
}

fn block_line<'a>(block: &'a Block, names: &mut HashMap<&'a str, &'a str>) -> Option<String> {
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
    use crate::conversation::{Completeness, Json, Opaque, UserInput};
    use crate::tool::{ToolCall, ToolResult};

    fn user_message(text: &str) -> Arc<EntryContent> {
        Arc::new(EntryContent::User(UserInput {
            preface: String::new(),
            text: text.to_owned(),
            images: Vec::new(),
        }))
    }

    #[test]
    fn transcript_contains_all_entries_in_order() {
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
            Arc::new(EntryContent::Summary("tea".to_owned())),
            user_message("note it"),
            Arc::new(EntryContent::Assistant(blocks, Completeness::Complete)),
            Arc::new(EntryContent::Tools(vec![result("a", Outcome::Done), result("x", Outcome::Failed)])),
        ];
        let expected = "[what was said in this conversation, and is not in your memory]\n\
            [summary of our conversation until here]\ntea\nhuman: note it\nyou: sure\n\
            you called note with {}\nnote answered: so\na tool failed: so\n[end of what was said]";
        assert_eq!(transcript(&said), expected);
        assert_eq!(transcript(&[]), "");
    }

    #[test]
    fn long_transcript_is_cut_at_its_beginning() {
        let told = transcript(&[user_message(&"é".repeat(MAX_TRANSCRIPT_CHARS)), user_message("new")]);
        assert!(told.contains("[18 characters before this were left out]\né"), "{}", &told[..200]);
        assert!(told.ends_with("human: new\n[end of what was said]"));
    }
}
