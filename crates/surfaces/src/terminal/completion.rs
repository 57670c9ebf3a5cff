//! Tab completion of commands, their arguments, and names of plans.

use domain::command;
use domain::effort::Effort;
use domain::model::SHORT_NAMES;
use domain::permission::Mode;
use domain::settings::Setting;

/// Result of completing a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completed {
    Not,
    /// The completed line.
    Line(String),
    /// The line with the common prefix, and all matches.
    Several(String, Vec<String>),
}

/// Commands of the terminal itself.
const OURS: [&str; 1] = ["/quit"];

/// Completes `line`; `names` are those of the plans.
pub fn complete(line: &str, names: &[String]) -> Completed {
    match line.split_once(' ') {
        None if command::is_command(line) => {
            let all: Vec<String> = command::names().chain(OURS).map(str::to_owned).collect();
            fitting("", line, &all)
        }
        Some((command, rest)) if command::is_command(command) => {
            fitting(&format!("{command} "), rest, &following(command, names))
        }
        _ => named(line, names),
    }
}

/// Returns the known arguments of a command.
fn following(command: &str, names: &[String]) -> Vec<String> {
    let owned = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect();
    match command {
        "/config" => Setting::ALL.map(|setting| setting.shown().to_owned()).to_vec(),
        "/model" => SHORT_NAMES.into_iter().chain(["default"]).map(str::to_owned).collect(),
        "/permissions" => owned(&Mode::ALL.map(Mode::as_str)),
        "/effort" => {
            Effort::ALL.map(Effort::as_str).into_iter().chain(["default"]).map(str::to_owned).collect()
        }
        "/thinking" => owned(&["auto", "off", "adaptive"]),
        "/why" => names.to_vec(),
        _ => Vec::new(),
    }
}

/// Completes the longest end of `line` that begins a name.
fn named(line: &str, names: &[String]) -> Completed {
    let starts = line.char_indices().filter(|(at, letter)| {
        !letter.is_whitespace() && line[..*at].chars().next_back().is_none_or(char::is_whitespace)
    });
    let mut found = starts.map(|(at, _)| fitting(&line[..at], &line[at..], names));
    found.find(|found| *found != Completed::Not).unwrap_or(Completed::Not)
}

/// Completes `start` with the matches among `all`, and puts `head` before the result.
fn fitting(head: &str, start: &str, all: &[String]) -> Completed {
    let begins = |name: &&String| {
        name.get(..start.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(start))
    };
    let mut fitting: Vec<&String> = all.iter().filter(begins).collect();
    fitting.sort();
    fitting.dedup();
    match fitting.as_slice() {
        [] => Completed::Not,
        [only] => Completed::Line(format!("{head}{only} ")),
        [first, rest @ ..] => {
            let shared = rest.iter().fold(first.as_str(), |shared, name| common(shared, name));
            let line = format!("{head}{}", if shared.len() < start.len() { start } else { shared });
            Completed::Several(line, fitting.into_iter().cloned().collect())
        }
    }
}

/// Returns the common prefix.
fn common<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
    &one[..same.last().map_or(0, |((at, letter), _)| at + letter.len_utf8())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_becomes_what_it_can_only_be_or_as_much_of_it_as_is_sure() {
        let names = ["dentist", "dentist invoice", "call mum"].map(str::to_owned);
        let check = |line: &str, expected: &str| {
            let told = match complete(line, &names) {
                Completed::Not => "-".to_owned(),
                Completed::Line(line) => line,
                Completed::Several(line, all) => format!("{line}: {}", all.join(", ")),
            };
            assert_eq!(told, expected, "{line}");
        };
        check("/sto", "/stop ");
        check("/qu", "/qui: /quiet, /quit");
        check("/quit", "/quit ");
        check("/st", "/st: /status, /stop");
        check("/nonsense", "-");
        check("/config auto_update_h", "/config auto_update_hour ");
        check("/config Auto_Update_h", "/config auto_update_hour ");
        check("/permissions b", "/permissions bypassPermissions ");
        check("/model h", "/model haiku ");
        check("/why call", "/why call mum ");
        check("/stop now", "-");
        check("done den", "done dentist: dentist, dentist invoice");
        check("move dentist i", "move dentist invoice ");
        check("cancel Ca", "cancel call mum ");
        check("buy milk", "-");
        check("done ", "-");
        check("", "-");
    }
}
