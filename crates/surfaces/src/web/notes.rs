//! Notes: texts in the data directory that are not job files, for reading.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};

use super::App;
use super::refusal::Refusal;
use super::schedule::unchanged;

/// Maximum length of a name in bytes.
const LONGEST: usize = 255;
/// Directories that contain no notes: internal ones, or ones with views of their own.
const OURS: [&str; 5] = ["state", "routines", "reminders", "webhooks", "skills"];
/// Documents installed with the program.
const PLACED: [&str; 3] = ["routine-reminder-spec.md", "skill-spec.md", "webhook-spec.md"];

/// Path of a note relative to the data directory, such as `notes/lisbon.md`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note(String);

impl Note {
    /// Parses a path. It must be a text file outside of the excluded directories.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', '\0']);
        let first = text.split('/').next().unwrap_or_default();
        let ends = text.ends_with(".md") || text.ends_with(".txt");
        let fits = text.len() <= LONGEST
            && text.split('/').all(plain)
            && !OURS.contains(&first)
            && !PLACED.contains(&text);
        (ends && fits).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// Names with their size in bytes, sorted.
    pub notes: Vec<(Note, u64)>,
    /// True if there are more.
    pub more: bool,
}

pub(super) fn routes() -> Router<App> {
    Router::new().route("/api/notes", get(list)).route("/api/notes/text", get(text))
}

/// All notes, sorted by name.
#[derive(Serialize)]
struct NotesWire {
    notes: Vec<NoteWire>,
    /// True if the list is incomplete.
    more: bool,
}

#[derive(Serialize)]
struct NoteWire {
    file: String,
    bytes: u64,
}

#[derive(Serialize)]
struct TextWire {
    file: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    file: String,
}

async fn list(State(app): State<App>) -> Result<Json<NotesWire>, Refusal> {
    let Noted { notes, more } = app.ports().job_files.notes().await.map_err(unchanged)?;
    let notes = notes.into_iter().map(|(note, bytes)| NoteWire { file: note.0, bytes }).collect();
    Ok(Json(NotesWire { notes, more }))
}

async fn text(
    State(app): State<App>,
    which: Result<Query<Which>, QueryRejection>,
) -> Result<Json<TextWire>, Refusal> {
    let Query(Which { file }) = which.map_err(|_| Refusal::malformed("ask with `?file=NAME.md`."))?;
    let wrong =
        || Refusal::malformed(format!("`{file}` is no note. write the name of one, like `notes/NAME.md`."));
    let note = Note::parse(&file).ok_or_else(wrong)?;
    let text = app.ports().job_files.note(note).await.map_err(unchanged)?;
    Ok(Json(TextWire { file, text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_notes_alone() {
        for good in ["tasks.md", "notes/lisbon.md", "notes/trips/a b.txt", "estate/x.md"] {
            assert_eq!(Note::parse(good).map(|note| note.0).as_deref(), Some(good));
        }
        let long = format!("{}.md", "x".repeat(LONGEST));
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
