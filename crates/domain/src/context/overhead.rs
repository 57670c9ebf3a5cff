//! Token estimates for requests before they are sent, and for servers that report no usage.

use super::Context;
use crate::conversation::{Block, Said, Usage};
use crate::tool::ToolSpec;

/// The assumed bytes per token. Real tokens average about four bytes of English and over three of
/// JSON, so the estimate is rather too high.
const TOKEN_BYTES: usize = 3;

/// The assumed tokens of a picture. Vendors count its dimensions, not the bytes of the file.
const PICTURE_TOKENS: usize = 1_500;

/// Estimates the tokens of instructions and tools.
pub fn overhead(instructions: &str, tools: &[ToolSpec]) -> usize {
    let tool = |tool: &ToolSpec| tool.name.len() + tool.description.len() + tool.schema.len();
    let bytes = instructions.len() + tools.iter().map(tool).sum::<usize>();
    bytes.div_ceil(TOKEN_BYTES)
}

/// Estimates the usage of a call that read `context` and answered `blocks`, without cache hits.
pub fn guessed(context: &Context, blocks: &[Block]) -> Usage {
    let said: usize = context.said.iter().map(|said| bytes(said)).sum();
    let pictures: usize = context.said.iter().map(|said| pictures(said)).sum();
    let fixed = overhead(&context.instructions, &context.tools);
    let input = fixed + said.div_ceil(TOKEN_BYTES) + pictures * PICTURE_TOKENS;
    let output = written(blocks).div_ceil(TOKEN_BYTES);
    Usage { input: input as u64, output: output as u64, ..Usage::default() }
}

fn bytes(said: &Said) -> usize {
    match said {
        Said::Human(heard) => heard.preface.len() + heard.text.len(),
        Said::Assistant(blocks, _) => written(blocks),
        Said::Tools(results) => results.iter().map(|result| result.text.len()).sum(),
        Said::Summary(text) => text.len(),
        Said::Recalled(_) => 0,
    }
}

fn pictures(said: &Said) -> usize {
    match said {
        Said::Human(heard) => heard.images.len(),
        Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => 0,
    }
}

fn written(blocks: &[Block]) -> usize {
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
    use crate::conversation::{Branch, Heard, Image, Json};
    use crate::effort::Effort;
    use crate::thinking::Thinking;
    use crate::tool::{Class, ToolCall};

    const TOOL: ToolSpec =
        ToolSpec { name: "abc", description: Cow::Borrowed("def"), schema: "{}", class: Class::Own };

    /// The estimate uses text bytes, and a fixed number for a picture.
    #[test]
    fn a_call_that_nobody_counted_is_guessed_from_its_words() {
        let image = Image { media_type: "image/png".to_owned(), data: "x".repeat(9_000_000) };
        let heard = Heard { preface: "[now]".to_owned(), text: "hello".to_owned(), images: vec![image] };
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
            said: vec![Arc::new(Said::Human(heard)), Arc::new(Said::Summary("y".repeat(290)))],
            notes: Vec::new(),
            aside: 0,
        };
        let answer = [Block::Text("z".repeat(18)), Block::Call(call)];
        let expected = Usage { input: 100 + 100 + 1_500, output: 10, ..Usage::default() };
        assert_eq!(guessed(&context, &answer), expected);
    }
}
