//! A directory that another program wrote before us: what is in it, and that it is used as it is.

use journal::Paths;
use serde_json::Value;

use super::Finding;

/// What was found, if somebody lived here before us and we have not started yet.
pub fn look(paths: &Paths) -> Option<Finding> {
    let lived_in = paths.state().join("sessions.json").exists() || paths.root().join("routines").exists();
    if paths.database().exists() || !lived_in {
        return None;
    }
    let found = [
        counted(markdown(paths, "routines"), "routine"),
        counted(markdown(paths, "reminders"), "reminder"),
        counted(markdown(paths, "webhooks"), "webhook"),
        counted(entries(paths, "skills"), "skill"),
        counted(waiting(paths), "update that waits"),
        counted(events(paths), "line of session history"),
    ];
    let session = std::fs::read_to_string(paths.state().join("sessions.json")).unwrap_or_default();
    let session = match session.trim() {
        "" => None,
        id if id.starts_with('{') => None,
        id => Some(format!("the session {}", id.chars().take(8).collect::<String>())),
    };
    let found: Vec<String> = found.into_iter().flatten().chain(session).collect();
    let what = if found.is_empty() { "nothing yet".to_owned() } else { found.join(", ") };
    Some(Finding::fine(
        "found",
        format!(
            "a directory of the earlier program: {what}. nothing has to be converted; it is used as it is"
        ),
    ))
}

fn markdown(paths: &Paths, folder: &str) -> usize {
    let Ok(entries) = std::fs::read_dir(paths.root().join(folder)) else { return 0 };
    entries.flatten().filter(|entry| entry.path().extension().is_some_and(|end| end == "md")).count()
}

fn entries(paths: &Paths, folder: &str) -> usize {
    let Ok(entries) = std::fs::read_dir(paths.root().join(folder)) else { return 0 };
    entries.flatten().filter(|entry| entry.path().is_dir()).count()
}

fn waiting(paths: &Paths) -> usize {
    let text = std::fs::read(paths.state().join("pending_updates.json")).unwrap_or_default();
    let updates: Value = serde_json::from_slice(&text).unwrap_or_default();
    updates.as_array().map_or(0, Vec::len)
}

fn events(paths: &Paths) -> usize {
    let text = std::fs::read_to_string(paths.state().join("session_history.jsonl")).unwrap_or_default();
    text.lines().filter(|line| !line.trim().is_empty()).count()
}

fn counted(number: usize, thing: &str) -> Option<String> {
    let (noun, rest) = thing.split_once(' ').unwrap_or((thing, ""));
    let plural = if number == 1 { "" } else { "s" };
    let rest = match (number, rest) {
        (1, rest) => rest.to_owned(),
        (_, rest) => rest.replace("that waits", "that wait"),
    };
    (number > 0).then(|| format!("{number} {noun}{plural} {rest}").trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the earlier program left is counted, and not before it is there or after we have started.
    #[test]
    fn what_the_earlier_program_left_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        assert!(look(&paths).is_none());
        for place in ["routines", "reminders", "skills/mail", "state"] {
            std::fs::create_dir_all(dir.path().join(place)).unwrap();
        }
        std::fs::write(dir.path().join("routines/a.md"), "---\n---\n").unwrap();
        std::fs::write(dir.path().join("routines/b.md"), "---\n---\n").unwrap();
        std::fs::write(dir.path().join("state/sessions.json"), "0123456789abcdef").unwrap();
        std::fs::write(dir.path().join("state/pending_updates.json"), "[{}, {}]").unwrap();
        let told = look(&paths).unwrap().text;
        let found = "2 routines, 1 skill, 2 updates that wait, the session 01234567.";
        assert!(told.contains(found), "{told}");
        std::fs::write(paths.database(), "").unwrap();
        assert!(look(&paths).is_none());
    }
}
