//! Slash commands, which are the same on every surface.

mod specs;

use crate::record::SurfaceName;
use crate::renewal::Renew;

use crate::assistant::Request;
use crate::explanation::Subject;
use crate::signing_in::{Code, SignIn};
use specs::{GROUPS, Group, Spec};

/// A parsed command.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A request that the assistant decides.
    Ask(Request),
    /// A query that the journal answers without the assistant.
    Look(Look),
    /// An update or restart of the program.
    Renew(Renew),
    /// Sign-in of the Claude CLI.
    SignIn(SignIn),
    Help,
}

/// A query that the journal answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// The cost of today.
    Cost,
    /// The explanation of an answer or a job.
    Why(Subject),
}

/// Returns whether `text` is a command. A sign-in code counts as one, so that it is never sent to a
/// model.
pub fn is_command(text: &str) -> bool {
    text.starts_with('/') || Code::read(text).is_some()
}

/// Returns whether `text` contains a secret that must not be stored.
pub fn is_secret(text: &str) -> bool {
    let given = text.trim().strip_prefix(LOGIN).map(str::trim);
    Code::read(text).is_some() || given.is_some_and(|given| !matches!(given, "" | "again"))
}

/// Parses a command entered on `surface`; the error is a message for the user.
pub fn read_on(surface: SurfaceName, text: &str) -> Result<Command, String> {
    let mut command = read(text)?;
    if let Command::Ask(Request::Approve(reply)) = &mut command {
        reply.by = surface;
    }
    Ok(command)
}

/// Returns whether `text` is a command that takes a while, such as an update check.
pub fn works_first(text: &str) -> bool {
    matches!(read(text), Ok(Command::Renew(_) | Command::SignIn(_)))
}

/// Parses a command; the error is a message for the user.
fn read(text: &str) -> Result<Command, String> {
    if let Some(code) = Code::read(text) {
        return Ok(Command::SignIn(SignIn::With(code)));
    }
    let (name, words) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let Some(spec) = specs().find(|spec| spec.name == name || spec.also.contains(&name)) else {
        return Err(format!("there is no command `{name}`. these are the commands:\n{}", list()));
    };
    match (spec.takes, words.trim()) {
        ("", words) if !words.is_empty() => Err(format!("`{name}` stands alone: leave out `{words}`.")),
        (_, words) => (spec.read)(words),
    }
}

/// The reply command. Its argument is a message, so it is parsed where messages are received.
pub const REPLY: &str = "/reply";

/// The sign-in command of the Claude CLI.
const LOGIN: &str = "/login";

/// The help text: all commands by group, one per line.
pub fn list() -> String {
    GROUPS.iter().map(group).collect::<Vec<_>>().join("\n\n")
}

/// The names and aliases of all commands, with the slash.
pub fn names() -> impl Iterator<Item = &'static str> {
    specs().flat_map(|spec| [spec.name].into_iter().chain(spec.also.iter().copied()))
}

fn group(group: &Group) -> String {
    let lines = group.specs.iter().map(line);
    [group.title.to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

fn line(spec: &Spec) -> String {
    let call = format!("{} {}", spec.name, spec.takes);
    let also = match spec.also {
        [] => String::new(),
        names => format!(" (also {})", names.join(", ")),
    };
    format!("  {:<32} {}{also}", call.trim_end(), spec.does)
}

fn specs() -> impl Iterator<Item = &'static Spec> {
    GROUPS.iter().flat_map(|group| group.specs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assistant::{Choice, Question, Rein, Reshape, Step, Way};
    use crate::effort::{Effort, EffortChoice};
    use crate::ping_budget::Pace;
    use crate::settings::Setting;
    use crate::thinking::Thinking;

    /// Only commands that do work outside the assistant are long-running.
    #[test]
    fn a_look_elsewhere_is_work() {
        for text in ["/update", "/restart", "/login"] {
            assert!(works_first(text), "{text}");
        }
        for text in ["/config", "/compact", "/cost", "/help", "/no-such", "hello"] {
            assert!(!works_first(text), "{text}");
        }
    }

    /// SL-4..SL-10, SL-12..SL-14: commands are parsed with their arguments, and errors contain a
    /// valid example.
    #[test]
    fn a_command_is_read_with_what_follows_it() {
        let check = |text: &str, expected: Result<Command, &str>| match (read(text), expected) {
            (Ok(read), Ok(expected)) => assert_eq!(read, expected, "{text}"),
            (Err(read), Err(expected)) => assert!(read.contains(expected), "{text}: {read}"),
            (read, expected) => panic!("{text}: {read:?} instead of {expected:?}"),
        };
        let asks = |request| Ok(Command::Ask(request));
        let chooses = |choice| Ok(Command::Ask(Request::Choose(choice)));
        check("/clear", asks(Request::Reshape(Reshape::Clear)));
        check("/compact", asks(Request::Reshape(Reshape::Compact(String::new()))));
        check(
            "/compact  keep the jokes ",
            asks(Request::Reshape(Reshape::Compact("keep the jokes".to_owned()))),
        );
        check("/undo all of it", Err("leave out `all of it`"));
        check("/cost", Ok(Command::Look(Look::Cost)));
        check("/why", Ok(Command::Look(Look::Why(Subject::Last))));
        check("/why 12", Ok(Command::Look(Look::Why(Subject::Number(12)))));
        check("/why mail", Ok(Command::Look(Look::Why(Subject::Job("mail".to_owned())))));
        check("/why mail@noon", Err("`noon` is not a time"));
        check("/fork taxes", asks(Request::Step(Step::Aside("taxes".to_owned()))));
        check("/exit", asks(Request::Step(Step::Back(Way::Drop))));
        check("/model Opus", chooses(Choice::Model("Opus".to_owned())));
        check("/thinking", chooses(Choice::Thinking(None)));
        check("/thinking off", chooses(Choice::Thinking(Some(Thinking::Off))));
        check("/effort", chooses(Choice::Effort(EffortChoice::Show)));
        check("/effort High", chooses(Choice::Effort(EffortChoice::Set(Effort::High))));
        check("/effort default", chooses(Choice::Effort(EffortChoice::Default)));
        check("/effort hard", Err("I don't understand `hard` as an effort. Use low, medium"));
        check("/thinking hard", Err("`hard` is no way to think"));
        check("/stop", asks(Request::Rein(Rein::Stop)));
        check("/interrupt", asks(Request::Rein(Rein::Stop)));
        check("/interrupt now", Err("`/interrupt` stands alone"));
        check("/ping-budget", chooses(Choice::Pings(Pace::default())));
        check("/ping-budget 0", Err("`0` is no number above 0"));
        check("/config", asks(Request::Tell(Question::Settings)));
        check("/config model.main", asks(Request::Tell(Question::Setting(Setting::ModelMain))));
        let hour = Choice::Setting(Setting::AutoUpdateHour, "24".to_owned());
        check("/config auto_update_hour  24 ", chooses(hour));
        check("/config colour red", Err("colour: there is no such setting"));
        check("/update", Ok(Command::Renew(Renew::Update)));
        check("/restart", Ok(Command::Renew(Renew::Restart)));
        check("/restart now", Err("`/restart` stands alone"));
        let code = format!("{}#{}", "c".repeat(40), "s".repeat(40));
        let signs_in = |wanted| Ok(Command::SignIn(wanted));
        let with = || SignIn::With(Code::read(&code).unwrap());
        check("/login", signs_in(SignIn::Link));
        check("/login again", signs_in(SignIn::Again));
        check(&format!("/login {code}"), signs_in(with()));
        check(&code, signs_in(with()));
        check("/login 1234", Err("that is no code to sign in with"));
        check("/help", Ok(Command::Help));
        check("/compacted", Err("there is no command `/compacted`"));
        check("/", Err("/compact [what to mind]"));
        check("/", Err("/reply NUMBER WORDS"));
        check("/reply 17", Err("`/reply 17 yes, do`"));
    }

    /// SU-3: a sign-in code is never treated as a message, and neither a code nor a part of one is
    /// stored.
    #[test]
    fn a_code_to_sign_in_with_is_no_message_and_is_not_kept() {
        let code = format!("{}#{}", "c".repeat(40), "s".repeat(40));
        assert!(is_command(&code) && !is_command("issue #12"));
        for secret in
            [code.clone(), format!(" {code} "), format!("/login {code}"), format!("/login {}", &code[..50])]
        {
            assert!(is_secret(&secret), "{secret}");
        }
        for open in ["/login", "/login again", "hello", "/model opus", ""] {
            assert!(!is_secret(open), "{open}");
        }
    }

    /// Every command is listed once in the aligned help text.
    #[test]
    fn the_list_is_by_subject_and_aligned() {
        let list = list();
        for spec in specs() {
            assert_eq!(list.matches(&format!("\n  {} ", spec.name)).count(), 1, "{}", spec.name);
        }
        let columns: Vec<usize> = list
            .lines()
            .filter_map(|line| line.strip_prefix("  /"))
            .map(|line| {
                line.find("  ").map_or(0, |gap| gap + line[gap..].len() - line[gap..].trim_start().len())
            })
            .collect();
        assert!(columns.iter().all(|column| *column == columns[0]), "{columns:?}\n{list}");
        assert!(list.contains("(also /interrupt)"), "{list}");
    }
}
