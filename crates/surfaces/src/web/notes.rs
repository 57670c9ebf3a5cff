//! Notes: what lies in the data directory beside the files that plan something, to be read.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};

use super::App;
use super::refusal::Refusal;
use super::schedule::unchanged;

/// The most bytes of a name.
const LONGEST: usize = 255;
/// Directories whose files are no notes: they are ours, or have views of their own.
const OURS: [&str; 5] = ["state", "routines", "reminders", "webhooks", "skills"];
/// Documents that come with the program.
const PLACED: [&str; 3] = ["routine-reminder-spec.md", "skill-spec.md", "webhook-spec.md"];

/// The name of a note, from the data directory on: `notes/lisbon.md`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note(String);

impl Note {
    /// Reads a name. It leads to a text, and nowhere where no notes are.
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

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The notes that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// Each with its bytes, by their names.
    pub notes: Vec<(Note, u64)>,
    /// Whether there are more than these.
    pub more: bool,
}

/// What can be asked about notes.
pub(super) fn routes() -> Router<App> {
    Router::new().route("/api/notes", get(list)).route("/api/notes/text", get(text))
}

/// All of them, by their names.
#[derive(Serialize)]
struct NotesWire {
    notes: Vec<NoteWire>,
    /// Whether there are more than are told of.
    more: bool,
}

/// One of them.
#[derive(Serialize)]
struct NoteWire {
    file: String,
    bytes: u64,
}

/// What one says.
#[derive(Serialize)]
struct TextWire {
    file: String,
    text: String,
}

/// Which one.
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
