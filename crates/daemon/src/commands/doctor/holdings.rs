//! What is in a data directory, whoever wrote it: a directory of the Python program is used as it is.

use journal::Paths;
use journal::disk::{Disk, Seen};

/// What there is, in words.
pub fn holdings(paths: &Paths, disk: &dyn Disk) -> String {
    let root = paths.root();
    let jobs = |folder: &str| {
        let listed = disk.list(&root.join(folder)).unwrap_or_default();
        listed.iter().filter(|it| it.is_file() && it.path.extension().is_some_and(|end| end == "md")).count()
    };
    let skills = disk.list(&root.join("skills")).unwrap_or_default();
    let skills = skills.iter().filter(|it| is_there(disk, &it.path.join("SKILL.md"))).count();
    let counts = [
        ("routine", jobs("routines")),
        ("reminder", jobs("reminders")),
        ("webhook", jobs("webhooks")),
        ("skill", skills),
    ];
    let counted: Vec<String> = counts.into_iter().filter(|(_, count)| *count > 0).map(told).collect();
    let counted = if counted.is_empty() { "nothing planned yet".to_owned() } else { counted.join(", ") };
    match is_there(disk, &paths.state().join("sessions.json")) && !is_there(disk, &paths.database()) {
        true => format!(
            "{counted}; and the session of another ollim-bot. all of it is used as it is, and the conversation goes \
             on under its name: what was said there is kept by the program that heard it"
        ),
        false => counted,
    }
}

fn told((what, count): (&str, usize)) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn is_there(disk: &dyn Disk, path: &std::path::Path) -> bool {
    matches!(disk.look(path), Ok(Some(Seen::File(_))))
}
