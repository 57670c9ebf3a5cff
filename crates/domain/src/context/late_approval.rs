//! The message for the model when an approval is answered after its turn had gone on.

use jiff::Zoned;

use crate::tool::ToolCall;

/// Returns the request to repeat `call`, which was asked for at `at`.
pub fn late_approval(call: &ToolCall, at: &Zoned) -> String {
    let name = &call.name;
    let input = &call.input.0;
    let at = at.strftime("%H:%M");
    format!(
        "[approval] the human has now allowed what you asked for earlier (at {at}). it was not run. if it still makes \
         sense, call `{name}` again with exactly this input, and no other: {input}\nthis permission is good for one \
         such call within 24 hours. then tell the human in a few words what came of it."
    )
}
