//! What happens beside main: each report is read in one place, and the fork that is open has a name.

use std::collections::BTreeSet;

use serde_json::Value;

use super::seen::{Entry, Report, Seen};

/// How main is told that it sees reports only once; a fork is told something else.
const ONCE: &str = "you see them only this once";

/// An entry of main quotes and counts exactly the reports that say they were read in it. Only what is no longer on
/// main's way may tell of reports that wait again.
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

/// What main is told of `reports`: of those whose words may be from outside, only once who left some.
fn quoted<'a>(reports: impl Iterator<Item = &'a &'a Report>) -> Vec<String> {
    let mut told = Vec::new();
    for report in reports {
        let line = match report.tainted {
            true => unread(&report.from),
            false => in_a_line(&report.text),
        };
        if !report.tainted || !told.contains(&line) {
            told.push(line);
        }
    }
    told
}

/// What main is told instead of words from outside: who left them, if that says nothing of what happened before.
fn unread(from: &str) -> String {
    let who = match from.split_once(['/', ':']).map_or(from, |(kind, _)| kind) {
        "fork" => "a side conversation",
        "card" => "a card",
        _ => from,
    };
    format!(
        "{who} read words from outside and left something for the human, which is not shown to you. they read it with \
         `ollim-bot updates`; you can in a side conversation."
    )
}

fn in_a_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What main is told of reports before the words of one entry.
struct Told<'a> {
    quoted: Vec<&'a str>,
    counted: usize,
}

impl<'a> Told<'a> {
    fn of(entry: &'a Entry) -> Self {
        let preface = entry.body["preface"].as_str().filter(|preface| preface.contains(ONCE));
        let lines: Vec<&str> =
            preface.unwrap_or_default().lines().skip(1).map_while(|line| line.strip_prefix("- (")).collect();
        let count = |line: &&str| line.split_once(" earlier ones").and_then(|(count, _)| count.parse().ok());
        let counted = lines.first().and_then(count);
        let quoted = lines.iter().skip(usize::from(counted.is_some()));
        let quoted = quoted.filter_map(|line| line.split_once(") ")).map(|(_, text)| text).collect();
        Self { quoted, counted: counted.unwrap_or(0) }
    }
}

/// PU-4: the file tells what waits, unless nobody could write it before the end.
pub fn the_file_tells_what_waits(seen: &Seen) -> Vec<String> {
    if seen.root.join("state/bot.pid").exists() {
        // It was killed; the next start lets the file follow.
        return Vec::new();
    }
    let file =
        std::fs::read_to_string(seen.root.join("state/pending_updates.json")).unwrap_or("[]".to_owned());
    let updates: Vec<Value> = serde_json::from_str(&file).unwrap_or_default();
    let told: Vec<&str> = updates.iter().filter_map(|update| update["message"].as_str()).collect();
    let waiting = seen.reports.iter().filter(|report| report.read.is_none());
    let waiting: Vec<&str> = waiting.map(|report| report.text.as_str()).collect();
    match told == waiting {
        true => Vec::new(),
        false => vec![format!("pending_updates.json tells {told:?}, and {waiting:?} wait")],
    }
}

/// At most one fork is open, and its branch is there.
pub fn the_fork_is_there(seen: &Seen) -> Vec<String> {
    let missing =
        seen.beside.forks.iter().filter(|fork| !seen.heads.iter().any(|head| head.branch == **fork));
    let mut wrong: Vec<String> = missing.map(|fork| format!("{fork} is open and has no place")).collect();
    if seen.beside.forks.len() > 1 {
        wrong.push(format!("{} forks are open at once", seen.beside.forks.len()));
    }
    wrong
}
