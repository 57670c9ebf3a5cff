//! Token estimates for requests before they are sent, and for servers that report no usage.

use super::Context;
use crate::conversation::{Block, EntryContent, Usage};
use crate::tool::ToolSpec;

/// The assumed bytes per token. Real tokens average about four bytes of English and over three of
/// JSON, so the estimate is rather too high.
const TOKEN_BYTES: usize = 3;

/// The assumed tokens of a picture. Vendors count its dimensions, not the bytes of the file.
const PICTURE_TOKENS: usize = 1_500;

/// Estimates the tokens of instructions and tools.
pub fn estimate_overhead(instructions: &str, tools: &[ToolSpec]) -> usize {
    let tool = |tool: &ToolSpec| tool.name.len() + tool.description.len() + tool.schema.len();
    let bytes = instructions.len() + tools.iter().map(tool).sum::<usize>();
    bytes.div_ceil(TOKEN_BYTES)
}

/// Estimates the usage of a call that read `context` and answered `blocks`, without cache hits.
pub fn estimate_usage(context: &Context, blocks: &[Block]) -> Usage {
    let said: usize = context.entries.iter().map(|said| entry_bytes(said)).sum();
    let pictures: usize = context.entries.iter().map(|said| picture_count(said)).sum();
    let fixed = estimate_overhead(&context.instructions, &context.tools);
    let input = fixed + said.div_ceil(TOKEN_BYTES) + pictures * PICTURE_TOKENS;
    let output = block_bytes(blocks).div_ceil(TOKEN_BYTES);
    Usage { input: input as u64, output: output as u64, ..Usage::default() }
}

fn entry_bytes(said: &EntryContent) -> usize {
    match said {
        EntryContent::User(heard) => heard.preface.len() + heard.text.len(),
        EntryContent::Assistant(blocks, _) => block_bytes(blocks),
        EntryContent::Tools(results) => results.iter().map(|result| result.text.len()).sum(),
        EntryContent::Summary(text) => text.len(),
        EntryContent::SummaryRecalled(_) => 0,
    }
}

fn picture_count(said: &EntryContent) -> usize {
    match said {
        EntryContent::User(heard) => heard.images.len(),
        EntryContent::Assistant(..)
        | EntryContent::Tools(_)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => 0,
    }
}

fn block_bytes(blocks: &[Block]) -> usize {
    let bytes = blocks.iter().map(|block| match block {
        Block::Text(text) => text.len(),
        Block::Call(call) => call.name.len() + call.input.0.len(),
        Block::Opaque(opaque) => opaque.json.0.len(),
    });
    bytes.sum()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use std::sync::Arc;

    use super::*;
    use crate::conversation::{Branch, Image, Json, UserInput};
    use crate::effort::Effort;
    use crate::thinking::Thinking;
    use crate::tool::{ToolCall, ToolClass};

    const TOOL: ToolSpec =
        ToolSpec { name: "abc", description: Cow::Borrowed("def"), schema: "{}", class: ToolClass::Own };

    /// The estimate uses text bytes, and a fixed number for a picture.
    #[test]
    fn usage_is_estimated_from_text_length() {
        let image = Image { media_type: "image/png".to_owned(), data: "x".repeat(9_000_000) };
        let heard = UserInput { preface: "[now]".to_owned(), text: "hello".to_owned(), images: vec![image] };
        let call =
            ToolCall { id: "1".to_owned(), name: "abc".to_owned(), input: Json("{\"a\":12}".to_owned()) };
        let context = Context {
            branch: Branch::Main,
            model: None,
            thinking: Thinking::Off,
            effort: Effort::Low,
            interactive: true,
            tools: Arc::from([TOOL]),
            instructions: Arc::from("x".repeat(292)),
            entries: vec![
                Arc::new(EntryContent::User(heard)),
                Arc::new(EntryContent::Summary("y".repeat(290))),
            ],
            notes: Vec::new(),
            transient_count: 0,
        };
        let answer = [Block::Text("z".repeat(18)), Block::Call(call)];
        let expected = Usage { input: 100 + 100 + 1_500, output: 10, ..Usage::default() };
        assert_eq!(estimate_usage(&context, &answer), expected);
    }
}
