//! Tab completion of commands, their arguments, and names of plans.

use domain::command;
use domain::effort::Effort;
use domain::model::SHORT_NAMES;
use domain::permission::Mode;
use domain::settings::Setting;

/// Result of completing a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion {
    NoMatch,
    /// The completed line.
    Single(String),
    /// The line with the common prefix, and all matches.
    Ambiguous(String, Vec<String>),
}

/// Commands of the terminal itself.
const LOCAL_COMMANDS: [&str; 1] = ["/quit"];

/// Completes `line`; `names` are those of the plans.
pub fn complete(line: &str, names: &[String]) -> Completion {
    match line.split_once(' ') {
        None if command::is_command(line) => {
            let all: Vec<String> =
                command::command_names().chain(LOCAL_COMMANDS).map(str::to_owned).collect();
            complete_from("", line, &all)
        }
        Some((command, rest)) if command::is_command(command) => {
            complete_from(&format!("{command} "), rest, &arguments(command, names))
        }
        _ => complete_name(line, names),
    }
}

/// Returns the known arguments of a command.
fn arguments(command: &str, names: &[String]) -> Vec<String> {
    let owned = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect();
    match command {
        "/config" => Setting::ALL.map(|setting| setting.display_name().to_owned()).to_vec(),
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
fn complete_name(line: &str, names: &[String]) -> Completion {
    let starts = line.char_indices().filter(|(at, letter)| {
        !letter.is_whitespace() && line[..*at].chars().next_back().is_none_or(char::is_whitespace)
    });
    let mut found = starts.map(|(at, _)| complete_from(&line[..at], &line[at..], names));
    found.find(|found| *found != Completion::NoMatch).unwrap_or(Completion::NoMatch)
}

/// Completes `start` with the matches among `all`, and puts `head` before the result.
fn complete_from(head: &str, start: &str, all: &[String]) -> Completion {
    let begins = |name: &&String| {
        name.get(..start.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(start))
    };
    let mut fitting: Vec<&String> = all.iter().filter(begins).collect();
    fitting.sort();
    fitting.dedup();
    match fitting.as_slice() {
        [] => Completion::NoMatch,
        [only] => Completion::Single(format!("{head}{only} ")),
        [first, rest @ ..] => {
            let shared = rest.iter().fold(first.as_str(), |shared, name| common_prefix(shared, name));
            let line = format!("{head}{}", if shared.len() < start.len() { start } else { shared });
            Completion::Ambiguous(line, fitting.into_iter().cloned().collect())
        }
    }
}

/// Returns the common prefix.
fn common_prefix<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
    &one[..same.last().map_or(0, |((at, letter), _)| at + letter.len_utf8())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_completed_as_far_as_it_is_unambiguous() {
        let names = ["dentist", "dentist invoice", "call mum"].map(str::to_owned);
        let check = |line: &str, expected: &str| {
            let told = match complete(line, &names) {
                Completion::NoMatch => "-".to_owned(),
                Completion::Single(line) => line,
                Completion::Ambiguous(line, all) => format!("{line}: {}", all.join(", ")),
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
