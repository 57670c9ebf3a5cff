//! Moves global flags that follow the free text of `add` and `inbox add` in front of it, so that
//! clap reads them as flags.
//!
//! All words after `--` stay text, and so does every other word, with or without a hyphen.

use std::ffi::{OsStr, OsString};

const JSON: &str = "--json";
const DATA_DIR: &str = "--data-dir";

/// Returns `line` with the global flags in front of the text of `add` and `inbox add`.
pub fn global_flags_first(line: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let line: Vec<OsString> = line.into_iter().collect();
    let Some(start) = add_text_start(&line) else { return line };
    let (head, words) = line.split_at(start);
    let asks_for_help = words.first().is_some_and(|word| word == "--help" || word == "-h");
    if words.is_empty() || asks_for_help {
        return line;
    }
    let (flags, words) = split_flags(words);
    let (program, command) = head.split_at(1.min(head.len()));
    let mut read = [program, &flags, command].concat();
    if !words.is_empty() {
        read.push(OsString::from("--"));
        read.extend(words);
    }
    read
}

/// Returns the index of the text of `add`, if that is the command.
fn add_text_start(line: &[OsString]) -> Option<usize> {
    let mut at = 1;
    let mut inbox = false;
    while let Some(word) = line.get(at).and_then(|word| word.to_str()) {
        match word {
            DATA_DIR => at += 2,
            "inbox" if !inbox => (inbox, at) = (true, at + 1),
            "add" => return Some(at + 1),
            flag if flag == JSON || is_data_dir_flag(OsStr::new(flag)) => at += 1,
            _ => return None,
        }
    }
    None
}

/// Splits `words` into flags and text.
fn split_flags(words: &[OsString]) -> (Vec<OsString>, Vec<OsString>) {
    let mut flags = Vec::new();
    let mut rest = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            rest.extend(words.by_ref().cloned());
        } else if word == JSON || is_data_dir_flag(word) {
            flags.push(word.clone());
        } else if word == DATA_DIR {
            flags.push(word.clone());
            flags.extend(words.next().cloned());
        } else {
            rest.push(word.clone());
        }
    }
    (flags, rest)
}

fn is_data_dir_flag(word: &OsStr) -> bool {
    word.to_str().is_some_and(|word| word.strip_prefix(DATA_DIR).is_some_and(|rest| rest.starts_with('=')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_found_after_the_text_but_not_after_two_hyphens() {
        let check = |line: &str, expected: &str| {
            let read = global_flags_first(line.split(' ').map(OsString::from));
            assert_eq!(read.join(OsStr::new(" ")), expected, "{line}");
        };
        check("bot add call mum --json", "bot --json add -- call mum");
        check("bot add call mum --data-dir /d at 5", "bot --data-dir /d add -- call mum at 5");
        check("bot add call --data-dir=/d", "bot --data-dir=/d add -- call");
        check("bot add call -- --json", "bot add -- call --json");
        check("bot add -- --json", "bot add -- --json");
        check("bot add -5 degrees", "bot add -- -5 degrees");
        check("bot --json inbox add x --json", "bot --json --json inbox add -- x");
        check("bot --data-dir /d add x", "bot --data-dir /d add -- x");
        check("bot add --json", "bot --json add");
        check("bot add", "bot add");
        check("bot add --help", "bot add --help");
        check("bot done x --json", "bot done x --json");
        check("bot reminder add --json", "bot reminder add --json");
    }
}
