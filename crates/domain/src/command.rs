//! Slash commands, which are the same on every surface.

mod specs;

use crate::maintenance::MaintenanceRequest;
use crate::record::SurfaceName;

use crate::assistant::Request;
use crate::explanation::Subject;
use crate::sign_in::{SignIn, SignInCode};
use specs::{CommandGroup, CommandSpec, GROUPS};

/// A parsed command.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A request that the assistant decides.
    Request(Request),
    /// A query that the journal answers without the assistant.
    Query(JournalQuery),
    /// An update or restart of the program.
    Renew(MaintenanceRequest),
    /// Sign-in of the Claude CLI.
    SignIn(SignIn),
    Help,
}

/// A query that the journal answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalQuery {
    /// The cost of today.
    Cost,
    /// The explanation of an answer or a job.
    Why(Subject),
}

/// Returns whether `text` is a command. A sign-in code counts as one, so that it is never sent to a
/// model.
pub fn is_command(text: &str) -> bool {
    text.starts_with('/') || SignInCode::parse(text).is_some()
}

/// Returns whether `text` contains a secret that must not be stored.
pub fn is_secret(text: &str) -> bool {
    let given = text.trim().strip_prefix(LOGIN_COMMAND).map(str::trim);
    SignInCode::parse(text).is_some() || given.is_some_and(|given| !matches!(given, "" | "again"))
}

/// Parses a command entered on `surface`; the error is a message for the user.
pub fn parse_on(surface: SurfaceName, text: &str) -> Result<Command, String> {
    let mut command = parse(text)?;
    if let Command::Request(Request::Approve(reply)) = &mut command {
        reply.surface = surface;
    }
    Ok(command)
}

/// Returns whether `text` is a command that takes a while, such as an update check.
pub fn is_long_running(text: &str) -> bool {
    matches!(parse(text), Ok(Command::Renew(_) | Command::SignIn(_)))
}

/// Parses a command; the error is a message for the user.
fn parse(text: &str) -> Result<Command, String> {
    if let Some(code) = SignInCode::parse(text) {
        return Ok(Command::SignIn(SignIn::With(code)));
    }
    let (name, words) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let Some(spec) = specs().find(|spec| spec.name == name || spec.aliases.contains(&name)) else {
        return Err(format!("there is no command `{name}`. these are the commands:\n{}", help_text()));
    };
    match (spec.arguments, words.trim()) {
        ("", words) if !words.is_empty() => Err(format!("`{name}` stands alone: leave out `{words}`.")),
        (_, words) => (spec.parse)(words),
    }
}

/// The reply command. Its argument is a message, so it is parsed where messages are received.
pub const REPLY_COMMAND: &str = "/reply";

/// The sign-in command of the Claude CLI.
const LOGIN_COMMAND: &str = "/login";

/// The help text: all commands by group, one per line.
pub fn help_text() -> String {
    GROUPS.iter().map(format_group).collect::<Vec<_>>().join("\n\n")
}

/// The names and aliases of all commands, with the slash.
pub fn command_names() -> impl Iterator<Item = &'static str> {
    specs().flat_map(|spec| [spec.name].into_iter().chain(spec.aliases.iter().copied()))
}

fn format_group(group: &CommandGroup) -> String {
    let lines = group.specs.iter().map(format_command);
    [group.title.to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

fn format_command(spec: &CommandSpec) -> String {
    let call = format!("{} {}", spec.name, spec.arguments);
    let also = match spec.aliases {
        [] => String::new(),
        names => format!(" (also {})", names.join(", ")),
    };
    format!("  {:<32} {}{also}", call.trim_end(), spec.help)
}

fn specs() -> impl Iterator<Item = &'static CommandSpec> {
    GROUPS.iter().flat_map(|group| group.specs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assistant::{ExitCommand, ForkCommand, HistoryCommand, Query, SettingCommand, TurnCommand};
    use crate::effort::{Effort, EffortChoice};
    use crate::ping_budget::PingPace;
    use crate::settings::Setting;
    use crate::thinking::Thinking;

    /// Only commands that do work outside the assistant are long-running.
    #[test]
    fn only_renewal_and_sign_in_are_long_running() {
        for text in ["/update", "/restart", "/login"] {
            assert!(is_long_running(text), "{text}");
        }
        for text in ["/config", "/compact", "/cost", "/help", "/no-such", "hello"] {
            assert!(!is_long_running(text), "{text}");
        }
    }

    /// SL-4..SL-10, SL-12..SL-14: commands are parsed with their arguments, and errors contain a
    /// valid example.
    #[test]
    fn commands_are_parsed_with_their_arguments() {
        let check = |text: &str, expected: Result<Command, &str>| match (parse(text), expected) {
            (Ok(read), Ok(expected)) => assert_eq!(read, expected, "{text}"),
            (Err(read), Err(expected)) => assert!(read.contains(expected), "{text}: {read}"),
            (read, expected) => panic!("{text}: {read:?} instead of {expected:?}"),
        };
        let asks = |request| Ok(Command::Request(request));
        let chooses = |choice| Ok(Command::Request(Request::Configure(choice)));
        check("/clear", asks(Request::History(HistoryCommand::Clear)));
        check("/compact", asks(Request::History(HistoryCommand::Compact(String::new()))));
        check(
            "/compact  keep the jokes ",
            asks(Request::History(HistoryCommand::Compact("keep the jokes".to_owned()))),
        );
        check("/undo all of it", Err("leave out `all of it`"));
        check("/cost", Ok(Command::Query(JournalQuery::Cost)));
        check("/why", Ok(Command::Query(JournalQuery::Why(Subject::Last))));
        check("/why 12", Ok(Command::Query(JournalQuery::Why(Subject::Number(12)))));
        check("/why mail", Ok(Command::Query(JournalQuery::Why(Subject::Job("mail".to_owned())))));
        check("/why mail@noon", Err("`noon` is not a time"));
        check("/fork taxes", asks(Request::Fork(ForkCommand::Enter("taxes".to_owned()))));
        check("/exit", asks(Request::Fork(ForkCommand::Exit(ExitCommand::Drop))));
        check("/model Opus", chooses(SettingCommand::Model("Opus".to_owned())));
        check("/thinking", chooses(SettingCommand::Thinking(None)));
        check("/thinking off", chooses(SettingCommand::Thinking(Some(Thinking::Off))));
        check("/effort", chooses(SettingCommand::Effort(EffortChoice::Show)));
        check("/effort High", chooses(SettingCommand::Effort(EffortChoice::Set(Effort::High))));
        check("/effort default", chooses(SettingCommand::Effort(EffortChoice::Default)));
        check("/effort hard", Err("I don't understand `hard` as an effort. Use low, medium"));
        check("/thinking hard", Err("`hard` is no way to think"));
        check("/stop", asks(Request::Control(TurnCommand::Stop)));
        check("/interrupt", asks(Request::Control(TurnCommand::Stop)));
        check("/interrupt now", Err("`/interrupt` stands alone"));
        check("/ping-budget", chooses(SettingCommand::PingPace(PingPace::default())));
        check("/ping-budget 0", Err("`0` is no number above 0"));
        check("/config", asks(Request::Query(Query::Settings)));
        check("/config model.main", asks(Request::Query(Query::Setting(Setting::ModelMain))));
        let hour = SettingCommand::Setting(Setting::AutoUpdateHour, "24".to_owned());
        check("/config auto_update_hour  24 ", chooses(hour));
        check("/config colour red", Err("colour: there is no such setting"));
        check("/update", Ok(Command::Renew(MaintenanceRequest::Update)));
        check("/restart", Ok(Command::Renew(MaintenanceRequest::Restart)));
        check("/restart now", Err("`/restart` stands alone"));
        let code = format!("{}#{}", "c".repeat(40), "s".repeat(40));
        let signs_in = |wanted| Ok(Command::SignIn(wanted));
        let with = || SignIn::With(SignInCode::parse(&code).unwrap());
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
    fn a_sign_in_code_is_a_command_and_a_secret() {
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
    fn the_help_text_is_grouped_and_aligned() {
        let list = help_text();
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
