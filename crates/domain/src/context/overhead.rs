//! What every request costs before anything was said.

use crate::tool::ToolSpec;

/// How many bytes are taken for a token. Vendors' tokens hold about four of English and a little over three of
/// JSON, so this counts too many rather than too few.
const TOKEN_BYTES: usize = 3;

/// A careful guess at the tokens of the instructions and the tools.
pub fn overhead(instructions: &str, tools: &[ToolSpec]) -> usize {
    let tool = |tool: &ToolSpec| tool.name.len() + tool.description.len() + tool.schema.len();
    let bytes = instructions.len() + tools.iter().map(tool).sum::<usize>();
    bytes.div_ceil(TOKEN_BYTES)
}
