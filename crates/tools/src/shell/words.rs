//! Words: whether a command is exactly one of our own, and which.
//!
//! Only what a shell would pass on as it is counts: plain words and quoted ones. At the first sign that would make a
//! shell do anything else, it is not ours, and goes to the shell in its cage.

/// What our program is called.
const OURS: &str = "ollim-bot";

/// Signs that mean something to a shell outside of quotes.
const SIGNS: &str = "|&;<>()$`*?[]{}~#!^=\n\r";

/// The words after our name, if `command` is one command of ours and nothing else.
pub fn own(command: &str) -> Option<Vec<String>> {
    let mut words = split(command.trim_matches([' ', '\t', '\n']))?.into_iter();
    match words.next() {
        Some(name) if name == OURS => Some(words.collect()),
        Some(_) | None => None,
    }
}

/// The words of `command` as a shell would pass them on: nothing, if it would do more than that.
fn split(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => quoted(&mut rest, '\'', word.get_or_insert_default())?,
            '"' => quoted(&mut rest, '"', word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(rest.next().filter(|c| *c != '\n')?),
            // A word such as `--model=x` is plain, but for the first, which would set a variable.
            '=' if !words.is_empty() => word.get_or_insert_default().push(c),
            _ if SIGNS.contains(c) || (c.is_control() && c != '\t') => return None,
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

/// Takes what is quoted, up to and with the closing `quote`.
fn quoted(rest: &mut std::str::Chars<'_>, quote: char, word: &mut String) -> Option<()> {
    loop {
        match rest.next()? {
            c if c == quote => return Some(()),
            // In double quotes these still mean something.
            '$' | '`' if quote == '"' => return None,
            '\\' if quote == '"' => match rest.next()? {
                c @ ('"' | '\\' | '$' | '`') => word.push(c),
                '\n' => return None,
                c => word.extend(['\\', c]),
            },
            '\0' => return None,
            c => word.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_command_of_ours_is_read_word_by_word() {
        let check = |command: &str, expected: &[&str]| {
            let expected: Vec<String> = expected.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(own(command), Some(expected), "{command}");
        };
        check("ollim-bot", &[]);
        check("  ollim-bot tasks list\n", &["tasks", "list"]);
        check(
            "ollim-bot add \"call mum; then rest\" 'it costs $5'",
            &["add", "call mum; then rest", "it costs $5"],
        );
        check("'ollim-bot' a\\ b --days=7", &["a b", "--days=7"]);
        check("ollim-bot \"a \\\"b\\\" \\n\" ''", &["a \"b\" \\n", ""]);
        check("ollim-bot 'two\nlines' ü", &["two\nlines", "ü"]);
    }

    #[test]
    fn anything_else_is_not_ours() {
        for command in [
            "",
            "ls",
            "ollim-bots",
            "./ollim-bot",
            "/usr/bin/ollim-bot help",
            "X=1 ollim-bot",
            "env ollim-bot help",
            "ollim-bot help; ls",
            "ollim-bot help\nls",
            "ollim-bot $(ls)",
            "ollim-bot `ls`",
            "ollim-bot \"$HOME\"",
            "ollim-bot \"`ls`\"",
            "ollim-bot > a",
            "ollim-bot < a",
            "ollim-bot | cat",
            "ollim-bot & ls",
            "ollim-bot *",
            "ollim-bot ~",
            "ollim-bot {a,b}",
            "ollim-bot 'open",
            "ollim-bot \"open",
            "ollim-bot \\",
            "(ollim-bot)",
            "ollim-bot $'x'",
            "ollim-bot # x",
            "ollim-bot=1 ls",
            "ollim-bot a\\\nb",
            "ollim-bot \"a\\\nb\"",
            "ollim-bot\u{0}",
            "ollim-bot a\u{1b}b",
        ] {
            assert_eq!(own(command), None, "{command}");
        }
    }
}
