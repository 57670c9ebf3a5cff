//! Compares shell commands with the patterns `Bash(...)` of tool lists.
//!
//! A command line is split into simple commands where a shell would split it. A line with anything
//! that a shell expands (variables, substitutions, redirections, escapes, groups) is not split: no
//! pattern with arguments allows it, and every excluding pattern forbids it, because it could hide
//! the excluded command.

/// The name of this program, and the older name of its command `history`.
const PROGRAM: &str = "ollim-bot";
const HISTORY_PROGRAM: &str = "claude-history";

/// Subcommands with two names, and the name that they are compared by.
const ALIASES: [(&str, &str); 1] = [("gmail", "mail")];

/// Options before the subcommand; the value follows as a word or after `=`.
const FLAGS: [&str; 1] = ["--json"];
const VALUE_FLAGS: [&str; 2] = ["--data-dir", "--limit"];

/// Programs that run the following words as a command.
const WRAPPERS: [&str; 23] = [
    "env", "command", "builtin", "exec", "nohup", "time", "nice", "ionice", "timeout", "stdbuf", "setsid",
    "sudo", "doas", "xargs", "watch", "busybox", "chroot", "unshare", "find", "parallel", "script", "flock",
    "strace",
];

/// Shell keywords before a command.
const KEYWORDS: [&str; 10] = ["if", "then", "else", "elif", "while", "until", "do", "for", "case", "select"];

/// Programs that run text or a file as shell commands, and words that define commands.
const SHELLS: [&str; 14] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "eval", "source", ".", "alias", "function", "trap",
    "coproc",
];

/// Characters that a shell expands. `;`, `&`, `|` and line breaks are not among them, because they
/// end a command.
const EXPANSION_CHARS: &str = "<>`$(){}[]*?~#!\\\0";

/// Returns whether every simple command of `command` matches one of `patterns`, where `*` matches
/// anything.
pub fn covers_all<'a>(patterns: impl Iterator<Item = &'a str> + Clone, command: &str) -> bool {
    let Some(commands) = simple_commands(command) else { return false };
    !commands.is_empty()
        && commands
            .iter()
            .all(|words| patterns.clone().any(|pattern| matches_command(pattern, &words.join(" "))))
}

/// Returns whether `command` runs, or could run, a command that `pattern` matches.
pub fn may_run(pattern: &str, command: &str) -> bool {
    let Some(commands) = simple_commands(command) else { return true };
    matches_command(pattern, command.trim()) || commands.iter().any(|words| runs(pattern, words))
}

/// Returns whether the words of one simple command run, or could run, a command that `pattern`
/// matches.
pub fn runs(pattern: &str, words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).skip_while(|word| is_assignment(word)).collect();
    let Some((first, rest)) = words.split_first() else { return false };
    // The program may be given by its path.
    let program = first.rsplit('/').next().unwrap_or(first);
    let line: Vec<&str> = std::iter::once(program).chain(rest.iter().copied()).collect();
    if matches_command(pattern, &line.join(" ")) || matches_command(pattern, &canonical(&line).join(" ")) {
        return true;
    }
    if SHELLS.contains(&program) {
        return true;
    }
    let wraps = WRAPPERS.contains(&program) || KEYWORDS.contains(&program);
    let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    wraps
        && ((0..rest.len()).any(|at| runs(pattern, &own(&rest[at..])))
            // Some wrappers take a whole command as one word, such as `env -S "..."`.
            || rest.iter().any(|word| word.contains(char::is_whitespace) && may_run(pattern, word)))
}

/// Returns whether `word` sets a variable for the following command.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Returns a command of this program without options before the subcommand and with its usual name,
/// and other commands unchanged.
fn canonical<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let (mut own, rest) = match words.split_first() {
        Some((&PROGRAM, rest)) => (vec![PROGRAM], rest),
        Some((&HISTORY_PROGRAM, rest)) => (vec![PROGRAM, "history"], rest),
        Some(_) | None => return words.to_vec(),
    };
    let mut rest = rest.iter().copied();
    let mut kept: Vec<&str> = Vec::new();
    while let Some(word) = rest.next() {
        let is_valued = VALUE_FLAGS.contains(&word);
        let is_joined =
            VALUE_FLAGS.iter().any(|flag| word.starts_with(flag) && word[flag.len()..].starts_with('='));
        if is_valued {
            rest.next();
            continue;
        }
        let is_separator = kept.is_empty() && word == "--";
        if !(is_joined || is_separator || FLAGS.contains(&word)) {
            kept.push(word);
        }
    }
    if let Some(first) = kept.first_mut().filter(|_| own.len() == 1) {
        let alias = ALIASES.into_iter().find(|(alias, _)| alias == first);
        *first = alias.map_or(*first, |(_, usual)| usual);
    }
    own.extend(kept);
    own
}

/// Returns whether `pattern` matches `line`, one simple command. `cmd:*` is another spelling of
/// `cmd *`, and a last ` *` also matches no words.
fn matches_command(pattern: &str, line: &str) -> bool {
    let pattern = match pattern.trim().strip_suffix(":*") {
        Some(start) => format!("{} *", start.trim_end()),
        None => pattern.trim().to_owned(),
    };
    let usual = |text: &str| {
        let words: Vec<&str> = text.split(' ').collect();
        match words.first() {
            Some(&HISTORY_PROGRAM) => [&[PROGRAM, "history"], &words[1..]].concat().join(" "),
            Some(&PROGRAM) => {
                let alias = ALIASES.into_iter().find(|(alias, _)| words.get(1) == Some(alias));
                alias
                    .map_or(text.to_owned(), |(_, usual)| [&[PROGRAM, usual], &words[2..]].concat().join(" "))
            }
            Some(_) | None => text.to_owned(),
        }
    };
    matches_glob(&usual(&pattern), &usual(line))
}

/// Returns whether `pattern` matches the whole of `text`; a last ` *` also matches nothing.
fn matches_glob(pattern: &str, text: &str) -> bool {
    if pattern.strip_suffix(" *").is_some_and(|start| matches_whole(start, text)) {
        return true;
    }
    matches_whole(pattern, text)
}

fn matches_whole(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Splits a command line into simple commands and their words; `None` if a shell would expand any
/// of it.
fn simple_commands(command: &str) -> Option<Vec<Vec<String>>> {
    let mut commands = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word = None::<String>;
    let mut quote = None;
    for c in command.trim().chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            // A shell expands these characters even between double quotes.
            (Some('"'), '$' | '`' | '\\' | '!') | (_, '\0') => return None,
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, ';' | '&' | '|' | '\n' | '\r') => {
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            (None, _) if EXPANSION_CHARS.contains(c) => return None,
            (None, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    commands.push(words);
    commands.retain(|words| !words.is_empty());
    quote.is_none().then_some(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disallowed_command_is_found_however_it_is_written() {
        let check = |pattern: &str, command: &str, expected: bool| {
            assert_eq!(may_run(pattern, command), expected, "{pattern}: {command}");
        };
        for pattern in ["ollim-bot cal *", "ollim-bot cal:*"] {
            for command in [
                "ollim-bot cal",
                "ollim-bot cal today",
                "  ollim-bot   cal   today ",
                "ollim-bot 'cal' \"today\"",
                "oll''im-bot cal today",
                "ollim-bot --json cal today",
                "ollim-bot --data-dir /x cal today",
                "ollim-bot --data-dir=/x cal today",
                "/usr/bin/ollim-bot cal today",
                "./ollim-bot cal today",
                "A=1 B=2 ollim-bot cal today",
                "env A=1 ollim-bot cal today",
                "env -S 'ollim-bot cal today'",
                "nohup timeout 5 ollim-bot cal today",
                "true && ollim-bot cal today",
                "true || ollim-bot cal today",
                "true; ollim-bot cal today",
                "true | ollim-bot cal today",
                "true & ollim-bot cal today",
                "true\nollim-bot cal today",
                "if true; then ollim-bot cal today; fi",
                "echo $(ollim-bot cal today)",
                "echo `ollim-bot cal today`",
                "echo \"$(ollim-bot cal today)\"",
                "(ollim-bot cal today)",
                "{ ollim-bot cal today; }",
                "$X cal today",
                "ollim-bot c\\al today",
                "ollim-bot ca? today",
                "ollim-bot cal today > x",
                "sh -c 'ollim-bot cal today'",
                "bash x.sh",
                "eval ollim-bot ca l",
                "find -exec ollim-bot cal today +",
                "ollim-bot cal 'unfinished",
            ] {
                check(pattern, command, true);
            }
            for command in ["ollim-bot tasks list", "ollim-bot calm", "ls -la", "grep cal notes && ls", ""] {
                check(pattern, command, false);
            }
        }
        check("ollim-bot *", "ollim-bot help", true);
        check("ollim-bot *", "claude-history search x", true);
        check("ollim-bot gmail *", "ollim-bot mail read 1", true);
        check("ollim-bot mail *", "ollim-bot gmail read 1", true);
        check("claude-history *", "ollim-bot history search x", true);
        check("ollim-bot cal today", "ollim-bot cal upcoming", false);
        check("ollim-bot cal today", "ls && ollim-bot cal today", true);
        check("*", "anything", true);
        check("git * main", "git push origin main", true);
        check("git * main", "git push origin other", false);
    }

    #[test]
    fn an_allowed_line_allows_a_command_only_if_every_part_is_allowed() {
        let check = |patterns: &[&str], command: &str, expected: bool| {
            assert_eq!(covers_all(patterns.iter().copied(), command), expected, "{patterns:?}: {command}");
        };
        let cal = ["ollim-bot cal *"];
        check(&cal, "ollim-bot cal today", true);
        check(&cal, "ollim-bot cal", true);
        check(&["ollim-bot cal:*"], "ollim-bot cal today", true);
        check(&["ollim-bot cal:*"], "ollim-bot calendar", false);
        check(&cal, "ollim-bot calendar", false);
        check(&cal, "ollim-bot cal today; ollim-bot cal upcoming", true);
        for more in [
            "ollim-bot cal today && rm x",
            "ollim-bot cal today; rm x",
            "ollim-bot cal today | sh",
            "ollim-bot cal today & rm x",
            "ollim-bot cal today\nrm x",
            "ollim-bot cal $(rm x)",
            "ollim-bot cal \"$(rm x)\"",
            "ollim-bot cal `rm x`",
            "ollim-bot cal today > x",
            "ollim-bot cal <(rm x)",
            "PATH=/tmp ollim-bot cal today",
            "env ollim-bot cal today",
            "/tmp/ollim-bot cal today",
            "",
            ";",
        ] {
            check(&cal, more, false);
        }
        let both = ["git status", "git log *"];
        check(&both, "git status && git log -3", true);
        check(&both, "git status && git push", false);
        check(&["git log"], "git log -3", false);
    }
}
