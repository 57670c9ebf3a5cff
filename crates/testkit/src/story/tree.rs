//! Draws the tree of entries directly from the tables, independently of the journal's code.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]

use std::collections::BTreeMap;

use journal::Paths;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

/// An entry: its id, its parent, and its text.
type EntryRow = (i64, Option<i64>, String);
/// A mark behind an entry: a branch that points to it, or the end of a branch.
type EntryMark = (String, i64);

/// Draws the tree of the data directory at `paths`; branches are indented.
pub fn draw(paths: &Paths) -> String {
    let (rows, heads) = read_rows(paths).expect("a journal that can be read");
    let mut children: BTreeMap<Option<i64>, Vec<EntryRow>> = BTreeMap::new();
    for row in rows {
        children.entry(row.1).or_default().push(row);
    }
    let mut drawing = String::new();
    draw_children(None, 0, &children, &heads, &mut drawing);
    drawing
}

fn draw_children(
    parent: Option<i64>,
    indent: usize,
    children: &BTreeMap<Option<i64>, Vec<EntryRow>>,
    heads: &[EntryMark],
    drawing: &mut String,
) {
    let entries = children.get(&parent).map(Vec::as_slice).unwrap_or_default();
    let indent = if entries.len() > 1 && parent.is_some() { indent + 2 } else { indent };
    for (id, _, text) in entries {
        let names: String =
            heads.iter().filter(|(_, entry)| entry == id).map(|(name, _)| name.as_str()).collect();
        drawing.push_str(&format!("{:indent$}{text}{names}\n", ""));
        draw_children(Some(*id), indent, children, heads, drawing);
    }
}

fn read_rows(paths: &Paths) -> rusqlite::Result<(Vec<EntryRow>, Vec<EntryMark>)> {
    let connection = Connection::open_with_flags(paths.database(), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let row = |row: &rusqlite::Row<'_>| {
        let (kind, body): (String, String) = (row.get(2)?, row.get(3)?);
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        Ok((row.get(0)?, row.get(1)?, format!("{kind}: {}", body_text(&body))))
    };
    let sql = "SELECT id, parent, kind, body FROM entries ORDER BY id";
    let rows = connection.prepare(sql)?.query_map([], row)?.collect::<Result<_, _>>()?;
    let sql = "SELECT branch, entry FROM heads WHERE entry IS NOT NULL ORDER BY branch";
    let head = |row: &rusqlite::Row<'_>| Ok((format!("  <- {}", row.get::<_, String>(0)?), row.get(1)?));
    let mut names: Vec<EntryMark> =
        connection.prepare(sql)?.query_map([], head)?.collect::<Result<_, _>>()?;
    let sql = "SELECT branch, why, from_entry FROM moves WHERE to_session IS NULL AND from_entry IS NOT NULL ORDER BY id";
    let ended = |row: &rusqlite::Row<'_>| {
        Ok((format!("  ({} {})", row.get::<_, String>(0)?, row.get::<_, String>(1)?), row.get(2)?))
    };
    names.extend(connection.prepare(sql)?.query_map([], ended)?.collect::<Result<Vec<EntryMark>, _>>()?);
    Ok((rows, names))
}

/// Returns the user's text or the tag of a program message, with the number of updates before it.
fn user_text(preface: &str, text: &str) -> String {
    let said = preface.rsplit_once("\n\n[").or(preface.split_once("] [")).map(|(_, said)| said);
    let tag = said.and_then(|said| said.split_once(']')).map(|(tag, _)| tag);
    let message = match (text, tag) {
        ("", Some(tag)) => format!("[{tag}]"),
        (text, _) => text.to_owned(),
    };
    let updates = preface.lines().skip(1).take_while(|line| line.starts_with("- (")).count();
    match updates {
        0 => message,
        1 => format!("(reads 1 update) {message}"),
        count => format!("(reads {count} updates) {message}"),
    }
}

fn body_text(body: &Value) -> String {
    if let Some(text) = body["text"].as_str() {
        return user_text(body["preface"].as_str().unwrap_or_default(), text);
    }
    let parts = body["blocks"].as_array().or(body["results"].as_array()).cloned().unwrap_or_default();
    let texts = parts.iter().map(|part| match (&part["text"], &part["call"]["name"]) {
        (Value::String(text), _) => text.clone(),
        (_, Value::String(name)) => format!("calls {name}"),
        _ => "(opaque)".to_owned(),
    });
    let cut = if body["cut"].as_bool() == Some(true) { " (cut)" } else { "" };
    texts.collect::<Vec<_>>().join(" | ") + cut
}
