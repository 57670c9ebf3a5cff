//! Commands of this program in the model's shell calls. They are parsed here and never reach a
//! shell.

use super::tool_action::Capability;
use crate::attention::QuietCommand;
use crate::label::{Label, Realm};
use crate::settings::Setting;

/// The name of this program, and of an older program for the history.
const PROGRAM: &str = "ollim-bot";
const HISTORY_PROGRAM: &str = "claude-history";

/// Characters with a special meaning in a shell.
const SHELL_CHARS: &str = ";&|<>`$(){}[]*?~#!\\\n\r\0";

/// Returns the arguments if `command` is a single command of this program; the first is the
/// subcommand.
pub fn parse(command: &str) -> Option<Vec<String>> {
    strip_program(&split_words(command.trim())?)
}

/// Returns the words after the name of this program, if they begin with it.
pub fn strip_program(words: &[String]) -> Option<Vec<String>> {
    let (first, rest) = words.split_first()?;
    match first.as_str() {
        PROGRAM => Some(rest.to_vec()),
        HISTORY_PROGRAM => Some([&["history".to_owned()], rest].concat()),
        _ => None,
    }
}

/// Returns the capability and the read label of a command. Unknown commands count as the worst.
pub fn capability(words: &[String]) -> (Capability, Label) {
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    let private = |realm| (Capability::Reads, Label::private(realm));
    let foreign = |realm| (Capability::Reads, Label::both(realm));
    let change = |power, realm| (power, Label::private(realm));
    match (word(0), word(1)) {
        ("" | "help" | "--help" | "--version" | "status", _) => (Capability::Notify, Label::PLAIN),
        // The command itself adds the labels of the entries that it shows.
        ("history" | "sessions" | "updates", _) => private(Realm::History),
        ("why" | "pings", _) => foreign(Realm::History),
        ("now" | "today" | "cost", _) | ("inbox", "" | "list") => private(Realm::Tasks),
        ("mail" | "gmail", _) => foreign(Realm::Mail),
        ("tasks", "" | "list") => private(Realm::Tasks),
        ("tasks", "add" | "done" | "update") => change(Capability::Reversible, Realm::Tasks),
        ("cal", "" | "today" | "upcoming" | "show") => foreign(Realm::Calendar),
        ("cal", "add" | "update") => change(Capability::Reversible, Realm::Calendar),
        ("routine" | "reminder", "" | "list" | "show" | "next") => private(Realm::Tasks),
        ("skills", "" | "list" | "show") => private(Realm::Files),
        ("webhook", "" | "list" | "show") => private(Realm::Files),
        ("webhook", "test") if !words.iter().any(|word| word == "--send") => private(Realm::Files),
        ("routine" | "reminder" | "webhook", "accept") => (Capability::UserOnly, Label::PLAIN),
        ("webhook", _) => change(Capability::Authority, Realm::Files),
        ("mcp-servers", "" | "list") => foreign(Realm::Server),
        ("reminder", "add") if !has_extra_options(words) => change(Capability::Reversible, Realm::Tasks),
        ("routine", "add") if !has_extra_options(words) => change(Capability::Routine, Realm::Tasks),
        // The effect depends on the text, see `tool_action_at`.
        ("add", _) => change(Capability::Authority, Realm::Tasks),
        ("undo", "--list") => private(Realm::Tasks),
        ("done" | "move" | "undo" | "pause" | "resume", _) | ("reminder", "cancel") => {
            change(Capability::Reversible, Realm::Tasks)
        }
        ("reminder" | "routine", _) => change(Capability::Authority, Realm::Tasks),
        ("tasks" | "cal" | "inbox", _) => change(Capability::Destructive, Realm::Tasks),
        ("config", name) => (config_capability(name, words.len() > 2), Label::private(Realm::Files)),
        ("quiet", _) => {
            change(quiet_capability(&QuietCommand::parse_quiet(&words[1..].join(" "))), Realm::Tasks)
        }
        ("focus", _) => {
            change(quiet_capability(&QuietCommand::parse_focus(&words[1..].join(" "))), Realm::Tasks)
        }
        ("lighter", "") => change(Capability::Reversible, Realm::Tasks),
        _ => (Capability::UserOnly, Label::PLAIN),
    }
}

/// Returns the capability of `config` with the setting `name`. Only the user changes the permission
/// mode, because it decides which calls ask. An unknown setting counts as the worst.
fn config_capability(name: &str, changes: bool) -> Capability {
    if !changes {
        return Capability::Reads;
    }
    match Setting::from_name(name) {
        Ok(Setting::PermissionMode) | Err(_) => Capability::UserOnly,
        Ok(_) => Capability::Authority,
    }
}

/// Returns the capability of a command for quiet hours or focus. Changing them changes settings;
/// showing them only reads.
fn quiet_capability(meant: &Result<QuietCommand, String>) -> Capability {
    match meant {
        Ok(QuietCommand::Show | QuietCommand::Held) => Capability::Reads,
        Ok(QuietCommand::Lighter) => Capability::Reversible,
        Ok(
            QuietCommand::Hours(_)
            | QuietCommand::QuietFor(_)
            | QuietCommand::Focus(..)
            | QuietCommand::Unfocus,
        )
        | Err(_) => Capability::Routine,
    }
}

/// Returns whether a plan has options besides its text and time.
fn has_extra_options(words: &[String]) -> bool {
    let plain = ["--message", "-m", "--delay", "--at", "--cron", "--description", "--json"];
    let flag = |word: &&String| word.starts_with('-') && word.len() > 1;
    words.iter().filter(flag).any(|word| !plain.contains(&word.split('=').next().unwrap_or_default()))
}

/// Splits a command like a shell; `None` if a shell would do more than split it.
fn split_words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word = None::<String>;
    let mut quote = None;
    for c in command.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            // A shell interprets these characters even between double quotes.
            (Some('"'), '$' | '`' | '\\' | '!') | (_, '\0') => return None,
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, _) if SHELL_CHARS.contains(c) => return None,
            (None, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I7: Only a command that a shell would read as plain words is a command of this program.
    #[test]
    fn only_plain_commands_are_own_commands() {
        let ours = |command: &str| parse(command).map(|words| words.join("|"));
        assert_eq!(
            ours("ollim-bot tasks add 'buy milk' --due 2026-11-20").as_deref(),
            Some("tasks|add|buy milk|--due|2026-11-20")
        );
        assert_eq!(ours("  ollim-bot   help ").as_deref(), Some("help"));
        assert_eq!(
            ours("claude-history search \"the dentist\"").as_deref(),
            Some("history|search|the dentist")
        );
        assert_eq!(ours("ollim-bot tasks add \"a;b\"").as_deref(), Some("tasks|add|a;b"));
        for other in [
            "",
            "ls",
            "ollim-bot; rm x",
            "ollim-bot help && ls",
            "ollim-bot help | sh",
            "ollim-bot $(ls)",
            "ollim-bot \"$(ls)\"",
            "ollim-bot `ls`",
            "ollim-bot help > x",
            "env ollim-bot help",
            "./ollim-bot help",
            "ollim-bot 'help",
            "ollim-bot a\nls",
            "ollim-bot {a,b}",
            "ollim-bot *",
            "ollim-bot ~/x",
            "X=1 ollim-bot help",
            "ollim-bot a\\ b",
            "ollim-bot #x",
        ] {
            assert_eq!(ours(other), None, "{other}");
        }
    }

    /// A plan with text and time differs from one with its own tools, and unknown commands are for
    /// the user.
    #[test]
    fn command_has_its_capability() {
        let check = |command: &str, expected: Capability| {
            let words = parse(&format!("ollim-bot {command}")).expect("words");
            assert_eq!(capability(&words).0, expected, "{command}");
        };
        check("help", Capability::Notify);
        check("tasks list", Capability::Reads);
        check("tasks add milk", Capability::Reversible);
        check("tasks delete 7", Capability::Destructive);
        check("cal delete 7", Capability::Destructive);
        check("reminder add -m tea --delay 5", Capability::Reversible);
        check("reminder add -m tea --delay 5 --allowed-tools=Bash", Capability::Authority);
        check("routine add -m tea --cron x", Capability::Routine);
        check("routine add -m tea --cron x --allowed-tools=Bash", Capability::Authority);
        check("routine add -m tea --cron x --background", Capability::Authority);
        check("mail read 1", Capability::Reads);
        check("webhook list", Capability::Reads);
        check("webhook test ci --data x", Capability::Reads);
        check("webhook test ci --data x --send", Capability::Authority);
        check("webhook add x -m y", Capability::Authority);
        check("config", Capability::Reads);
        check("config thinking.main", Capability::Reads);
        check("config thinking.main adaptive", Capability::Authority);
        check("config model_main opus", Capability::Authority);
        check("quiet", Capability::Reads);
        check("quiet 23-7", Capability::Routine);
        check("quiet for 2h", Capability::Routine);
        check("focus 25", Capability::Routine);
        check("lighter", Capability::Reversible);
        for human in [
            "config permission_mode bypassPermissions",
            "config permission.mode dontAsk",
            "config model x",
            "skills accept a",
            "setup",
            "run",
            "chat --once hi",
            "open",
            "mcp",
            "google connect",
        ] {
            check(human, Capability::UserOnly);
        }
    }
}
