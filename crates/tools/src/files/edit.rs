//! The tool that replaces text in a file.

use std::borrow::Cow;
use std::io::Read;

use domain::tool::{ToolClass, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

use super::write::{MAX_FILE_BYTES, check_size};
use super::{Files, run_blocking};
use crate::{Tool, ToolEnv, ToolFuture, ToolHandler, parse_input};

pub(crate) const EDIT: Tool = Tool {
    spec: ToolSpec {
        name: "Edit",
        description: Cow::Borrowed(
            "Replaces `old_string`, exactly as it stands and found once (or everywhere, with `replace_all`), \
            in a file of the data directory.",
        ),
        schema: r#"{"type":"object","required":["file_path","old_string","new_string"],"properties":{"file_path":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean"}}}"#,
        class: ToolClass::Edits,
    },
    handler: ToolHandler::Run(edit),
};

#[derive(Deserialize)]
pub(super) struct EditInput {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

fn edit(workshop: &ToolEnv, input: Value) -> ToolFuture<'_> {
    run_blocking(workshop, EDIT.spec.name, move |files| files.edit(&parse_input(input)?))
}

impl Files {
    pub(super) fn edit(&self, input: &EditInput) -> Result<String, String> {
        let path = self.parse_path(&input.file_path)?;
        let (file, stat) = self.root.open_file(&path).map_err(|error| error.text(&path))?;
        let mut before = Vec::new();
        let max = MAX_FILE_BYTES as u64 + 1;
        file.take(max).read_to_end(&mut before).map_err(|error| format!("`{path}`: {error}."))?;
        if before.len() > MAX_FILE_BYTES {
            return Err(format!("`{path}` is too long to be edited: {MAX_FILE_BYTES} bytes at most."));
        }
        let before = String::from_utf8(before).map_err(|_| format!("`{path}` is not plain text (UTF-8)."))?;
        let (after, places) = replace_text(&before, input).map_err(|wrong| format!("`{path}`: {wrong}"))?;
        check_size(&after)?;
        self.history.permit_write(&path.display(), Some(&before), &after);
        self.root.replace(&path, after.as_bytes(), Some(&stat)).map_err(|error| error.text(&path))?;
        self.record_write(&path, "edit");
        let word = if places == 1 { "place" } else { "places" };
        Ok(format!("changed `{path}` in {places} {word}."))
    }
}

/// Returns `before` with the replacement, and the number of replaced places.
fn replace_text(before: &str, input: &EditInput) -> Result<(String, usize), String> {
    let EditInput { old_string: old, new_string: new, .. } = input;
    if old.is_empty() {
        return Err("`old_string` is empty. name the words to replace, or use `Write`.".to_owned());
    }
    if old == new {
        return Err("`old_string` and `new_string` are the same, so there is nothing to change.".to_owned());
    }
    match (before.matches(old.as_str()).count(), input.replace_all) {
        (0, _) => Err("`old_string` is not in it. read the file and copy the words exactly.".to_owned()),
        (1, _) => Ok((before.replacen(old, new, 1), 1)),
        (places, true) => Ok((before.replace(old, new), places)),
        (places, false) => Err(format!(
            "`old_string` is in it {places} times. add the words around the one you mean, or set `replace_all`."
        )),
    }
}
