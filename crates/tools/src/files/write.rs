//! The tool that writes a whole file.

use domain::tool::{ToolClass, ToolSpec};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

use super::root::WriteOutcome;
use super::{Files, run_blocking};
use crate::{Tool, ToolEnv, ToolFuture, ToolHandler, parse_input};

pub(crate) const WRITE: Tool = Tool {
    spec: ToolSpec {
        name: "Write",
        description: Cow::Borrowed(
            "Writes a whole file of the data directory, making its folders. What was in it is gone.",
        ),
        schema: r#"{"type":"object","required":["file_path","content"],"properties":{"file_path":{"type":"string"},"content":{"type":"string"}}}"#,
        class: ToolClass::Edits,
    },
    handler: ToolHandler::Run(write),
};

/// The maximum size of a written file.
pub(super) const MAX_FILE_BYTES: usize = 1024 * 1024;

#[derive(Deserialize)]
struct WriteInput {
    file_path: String,
    content: String,
}

fn write(workshop: &ToolEnv, input: Value) -> ToolFuture<'_> {
    run_blocking(workshop, WRITE.spec.name, move |files| {
        let WriteInput { file_path, content } = parse_input(input)?;
        files.write(&file_path, &content)
    })
}

impl Files {
    pub(super) fn write(&self, text: &str, content: &str) -> Result<String, String> {
        check_size(content)?;
        let path = self.parse_path(text)?;
        self.history.permit_write(&path.display(), None, content);
        let outcome =
            self.root.replace(&path, content.as_bytes(), None).map_err(|error| error.text(&path))?;
        self.record_write(&path, "write");
        let done = match outcome {
            WriteOutcome::Created => "made",
            WriteOutcome::Replaced => "replaced",
        };
        Ok(format!("{done} `{path}`: {} lines, {} bytes.", content.lines().count(), content.len()))
    }
}

/// Fails if `content` is too long to be written.
pub(super) fn check_size(content: &str) -> Result<(), String> {
    if content.len() > MAX_FILE_BYTES {
        Err(format!(
            "that is {} bytes, and a file may have {MAX_FILE_BYTES} at most. write it in several files.",
            content.len()
        ))
    } else {
        Ok(())
    }
}
