//! The tool that writes a whole file.

use domain::tool::{Class, ToolSpec};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

use super::root::Fate;
use super::{Files, aside};
use crate::{Done, Tool, Work, Workshop, parsed};

pub(crate) const WRITE: Tool = Tool {
    spec: ToolSpec {
        name: "Write",
        description: Cow::Borrowed(
            "Writes a whole file of the data directory, making its folders. What was in it is gone.",
        ),
        schema: r#"{"type":"object","required":["file_path","content"],"properties":{"file_path":{"type":"string"},"content":{"type":"string"}}}"#,
        class: Class::Edits,
    },
    work: Work::Does(write),
};

/// The maximum size of a written file.
pub(super) const BYTES: usize = 1024 * 1024;

#[derive(Deserialize)]
struct Wanted {
    file_path: String,
    content: String,
}

fn write(workshop: &Workshop, input: Value) -> Done<'_> {
    aside(workshop, WRITE.spec.name, move |files| {
        let Wanted { file_path, content } = parsed(input)?;
        files.write(&file_path, &content)
    })
}

impl Files {
    pub(super) fn write(&self, text: &str, content: &str) -> Result<String, String> {
        bearable(content)?;
        let inside = self.place(text)?;
        self.keeper.let_through(&inside.shown(), None, content);
        let fate =
            self.root.replace(&inside, content.as_bytes(), None).map_err(|trouble| trouble.told(&inside))?;
        self.keep(&inside, "write");
        let done = match fate {
            Fate::Made => "made",
            Fate::Replaced => "replaced",
        };
        Ok(format!("{done} `{inside}`: {} lines, {} bytes.", content.lines().count(), content.len()))
    }
}

/// Fails if `content` is too long to be written.
pub(super) fn bearable(content: &str) -> Result<(), String> {
    if content.len() > BYTES {
        Err(format!(
            "that is {} bytes, and a file may have {BYTES} at most. write it in several files.",
            content.len()
        ))
    } else {
        Ok(())
    }
}
