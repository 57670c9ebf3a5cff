//! Rules about pending updates and the open fork.

use std::collections::BTreeSet;

use serde_json::Value;

use super::seen::{Entry, Report, Seen};

/// The text that marks updates shown to main; forks get another text.
const ONCE: &str = "you see them only this once";

/// An entry of main quotes and counts exactly the updates that were read in it. Only entries that
/// are no longer on main's path may contain updates that are pending again.
pub fn reports_are_read_once(seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    let main: BTreeSet<i64> = seen.path(seen.main().and_then(|head| head.entry)).into_iter().collect();
    for (id, entry) in &seen.entries {
        let told = Told::of(entry);
        let read: Vec<&Report> = seen.reports.iter().filter(|report| report.entry == Some(*id)).collect();
        let quoted = quoted(read.iter().filter(|report| report.told == "quoted"));
        let counted = read.iter().filter(|report| report.told == "counted").count();
        let taken_back = read.is_empty() && !main.contains(id);
        if (told.quoted != quoted || told.counted != counted) && !taken_back {
            wrong.push(format!(
                "entry {id} quotes {:?} and counts {}, but read in it were {quoted:?} and {counted}",
                told.quoted, told.counted
            ));
        }
    }
    let astray = seen.reports.iter().filter(|report| match (report.read, report.entry) {
        (None, entry) => entry.is_some() || !report.told.is_empty(),
        (Some(_), entry) => entry.is_some_and(|entry| !seen.entries.contains_key(&entry)),
    });
    wrong.extend(astray.map(|report| format!("report {} was read and was not", report.id)));
    wrong
}

/// Returns the expected quotes of `reports`: tainted text keeps its lines, in a data block.
fn quoted<'a>(reports: impl Iterator<Item = &'a &'a Report>) -> Vec<String> {
    let told = |report: &&Report| {
        if report.tainted {
            format!("(data) {}", report.text.trim_end().replace('‹', "<"))
        } else {
            in_a_line(&report.text)
        }
    };
    reports.map(told).collect()
}

fn in_a_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The updates in the preamble of an entry.
struct Told {
    quoted: Vec<String>,
    counted: usize,
}

impl Told {
    fn of(entry: &Entry) -> Self {
        let preface = entry.body["preface"].as_str().filter(|preface| preface.contains(ONCE));
        let mut lines = preface.unwrap_or_default().lines().skip(1).peekable();
        let count = |line: &&str| {
            let line = line.strip_prefix("- (")?;
            line.split_once(" earlier ones").and_then(|(count, _)| count.parse().ok())
        };
        let counted = lines.peek().and_then(count);
        if counted.is_some() {
            lines.next();
        }
        let mut quoted = Vec::new();
        while let Some(line) = lines.next().and_then(|line| line.strip_prefix("- (")) {
            match line.split_once(") ") {
                Some((_, text)) => quoted.push(text.to_owned()),
                None => {
                    let name = lines.next().and_then(|opening| opening.strip_prefix('<'));
                    let end =
                        format!("</{}>", name.and_then(|name| name.split(' ').next()).unwrap_or_default());
                    let block: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
                    quoted.push(format!("(data) {}", block.join("\n").replace('‹', "<")));
                }
            }
        }
        Self { quoted, counted: counted.unwrap_or(0) }
    }
}

/// PU-4: the file matches the pending updates, unless the program was killed before it could write
/// the file.
pub fn the_file_tells_what_waits(seen: &Seen) -> Vec<String> {
    if seen.root.join("state/bot.pid").exists() {
        // It was killed; the next start updates the file.
        return Vec::new();
    }
    let file =
        std::fs::read_to_string(seen.root.join("state/pending_updates.json")).unwrap_or("[]".to_owned());
    let updates: Vec<Value> = serde_json::from_str(&file).unwrap_or_default();
    let told: Vec<&str> = updates.iter().filter_map(|update| update["message"].as_str()).collect();
    let waiting = seen.reports.iter().filter(|report| report.read.is_none());
    let waiting: Vec<&str> = waiting.map(|report| report.text.as_str()).collect();
    if told == waiting {
        Vec::new()
    } else {
        vec![format!("pending_updates.json tells {told:?}, and {waiting:?} wait")]
    }
}

/// At most one fork is open, and its branch exists.
pub fn the_fork_is_there(seen: &Seen) -> Vec<String> {
    let missing =
        seen.beside.forks.iter().filter(|fork| !seen.heads.iter().any(|head| head.branch == **fork));
    let mut wrong: Vec<String> = missing.map(|fork| format!("{fork} is open and has no place")).collect();
    if seen.beside.forks.len() > 1 {
        wrong.push(format!("{} forks are open at once", seen.beside.forks.len()));
    }
    wrong
}
