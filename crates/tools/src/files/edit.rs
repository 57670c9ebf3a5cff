//! The tool that replaces text in a file.

use std::borrow::Cow;
use std::io::Read;

use domain::tool::{Class, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

use super::write::{BYTES, bearable};
use super::{Files, aside};
use crate::{Done, Tool, Work, Workshop, parsed};

pub(crate) const EDIT: Tool = Tool {
    spec: ToolSpec {
        name: "Edit",
        description: Cow::Borrowed(
            "Replaces `old_string`, exactly as it stands and found once (or everywhere, with `replace_all`), \
            in a file of the data directory.",
        ),
        schema: r#"{"type":"object","required":["file_path","old_string","new_string"],"properties":{"file_path":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean"}}}"#,
        class: Class::Edits,
    },
    work: Work::Does(edit),
};

#[derive(Deserialize)]
pub(super) struct Wanted {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

fn edit(workshop: &Workshop, input: Value) -> Done<'_> {
    aside(workshop, EDIT.spec.name, move |files| files.edit(&parsed(input)?))
}

impl Files {
    pub(super) fn edit(&self, wanted: &Wanted) -> Result<String, String> {
        let inside = self.place(&wanted.file_path)?;
        let (file, stat) = self.root.file(&inside).map_err(|trouble| trouble.told(&inside))?;
        let mut before = Vec::new();
        let most = BYTES as u64 + 1;
        file.take(most).read_to_end(&mut before).map_err(|error| format!("`{inside}`: {error}."))?;
        if before.len() > BYTES {
            return Err(format!("`{inside}` is too long to be edited: {BYTES} bytes at most."));
        }
        let before =
            String::from_utf8(before).map_err(|_| format!("`{inside}` is not plain text (UTF-8)."))?;
        let (after, places) = changed(&before, wanted).map_err(|wrong| format!("`{inside}`: {wrong}"))?;
        bearable(&after)?;
        self.keeper.let_through(&inside.shown(), Some(&before), &after);
        self.root.replace(&inside, after.as_bytes(), Some(&stat)).map_err(|trouble| trouble.told(&inside))?;
        self.keep(&inside, "edit");
        let word = if places == 1 { "place" } else { "places" };
        Ok(format!("changed `{inside}` in {places} {word}."))
    }
}

/// Returns `before` with the replacement, and the number of replaced places.
fn changed(before: &str, wanted: &Wanted) -> Result<(String, usize), String> {
    let Wanted { old_string: old, new_string: new, .. } = wanted;
    if old.is_empty() {
        return Err("`old_string` is empty. name the words to replace, or use `Write`.".to_owned());
    }
    if old == new {
        return Err("`old_string` and `new_string` are the same, so there is nothing to change.".to_owned());
    }
    match (before.matches(old.as_str()).count(), wanted.replace_all) {
        (0, _) => Err("`old_string` is not in it. read the file and copy the words exactly.".to_owned()),
        (1, _) => Ok((before.replacen(old, new, 1), 1)),
        (places, true) => Ok((before.replace(old, new), places)),
        (places, false) => Err(format!(
            "`old_string` is in it {places} times. add the words around the one you mean, or set `replace_all`."
        )),
    }
}
