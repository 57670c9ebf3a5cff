//! Notes: texts in the data directory that are not job files, for reading.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};

use super::App;
use super::api_error::ApiError;
use super::schedule::file_error;

/// Maximum length of a name in bytes.
const MAX_NAME_BYTES: usize = 255;
/// Directories that contain no notes: internal ones, or ones with views of their own.
const EXCLUDED_DIRECTORIES: [&str; 5] = ["state", "routines", "reminders", "webhooks", "skills"];
/// Documents installed with the program.
const BUNDLED_DOCUMENTS: [&str; 3] = ["routine-reminder-spec.md", "skill-spec.md", "webhook-spec.md"];

/// Path of a note relative to the data directory, such as `notes/lisbon.md`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note(String);

impl Note {
    /// Parses a path. It must be a text file outside of the excluded directories.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', '\0']);
        let first = text.split('/').next().unwrap_or_default();
        let ends = text.ends_with(".md") || text.ends_with(".txt");
        let fits = text.len() <= MAX_NAME_BYTES
            && text.split('/').all(plain)
            && !EXCLUDED_DIRECTORIES.contains(&first)
            && !BUNDLED_DOCUMENTS.contains(&text);
        (ends && fits).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteList {
    /// Names with their size in bytes, sorted.
    pub notes: Vec<(Note, u64)>,
    /// True if there are more.
    pub truncated: bool,
}

pub(super) fn routes() -> Router<App> {
    Router::new().route("/api/notes", get(list)).route("/api/notes/text", get(text))
}

/// All notes, sorted by name.
#[derive(Serialize)]
struct NotesDto {
    notes: Vec<NoteDto>,
    /// True if the list is incomplete.
    more: bool,
}

#[derive(Serialize)]
struct NoteDto {
    file: String,
    bytes: u64,
}

#[derive(Serialize)]
struct NoteTextDto {
    file: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoteQuery {
    file: String,
}

async fn list(State(app): State<App>) -> Result<Json<NotesDto>, ApiError> {
    let NoteList { notes, truncated: more } = app.ports().job_files.notes().await.map_err(file_error)?;
    let notes = notes.into_iter().map(|(note, bytes)| NoteDto { file: note.0, bytes }).collect();
    Ok(Json(NotesDto { notes, more }))
}

async fn text(
    State(app): State<App>,
    which: Result<Query<NoteQuery>, QueryRejection>,
) -> Result<Json<NoteTextDto>, ApiError> {
    let Query(NoteQuery { file }) = which.map_err(|_| ApiError::malformed("ask with `?file=NAME.md`."))?;
    let wrong =
        || ApiError::malformed(format!("`{file}` is no note. write the name of one, like `notes/NAME.md`."));
    let note = Note::parse(&file).ok_or_else(wrong)?;
    let text = app.ports().job_files.note(note).await.map_err(file_error)?;
    Ok(Json(NoteTextDto { file, text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_limited_to_notes() {
        for good in ["tasks.md", "notes/lisbon.md", "notes/trips/a b.txt", "estate/x.md"] {
            assert_eq!(Note::parse(good).map(|note| note.0).as_deref(), Some(good));
        }
        let long = format!("{}.md", "x".repeat(MAX_NAME_BYTES));
        for bad in [
            "",
            ".md",
            "notes/",
            "a.json",
            "state/x.md",
            "routines/a.md",
            "skills/a/SKILL.md",
            "skill-spec.md",
            "../x.md",
            "notes/../state/x.md",
            "/etc/x.md",
            "notes//x.md",
            ".git/x.md",
            "notes/.x.md",
            "a\0.md",
            "a\\b.md",
            &long,
        ] {
            assert_eq!(Note::parse(bad), None, "{bad:?}");
        }
    }
}
