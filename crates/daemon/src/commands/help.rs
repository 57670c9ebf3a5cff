//! `ollim-bot help`: shows all commands, one command, or a topic of the embedded documentation.

use std::process::ExitCode;

use clap::CommandFactory;
use serde_json::json;

use super::print_result;
use crate::cli::{Cli, Output};
use crate::exit::CommandError;

/// A page of the documentation.
struct Topic {
    name: &'static str,
    text: &'static str,
}

const TOPICS: [Topic; 16] = [
    Topic { name: "first-steps", text: include_str!("../../../../docs/help/first-steps.md") },
    Topic { name: "reminders", text: include_str!("../../../../docs/help/reminders.md") },
    Topic { name: "routines", text: include_str!("../../../../docs/help/routines.md") },
    Topic { name: "forks", text: include_str!("../../../../docs/help/forks.md") },
    Topic { name: "updates", text: include_str!("../../../../docs/help/updates.md") },
    Topic { name: "permissions", text: include_str!("../../../../docs/help/permissions.md") },
    Topic { name: "tasks-calendar-mail", text: include_str!("../../../../docs/help/tasks-calendar-mail.md") },
    Topic { name: "web", text: include_str!("../../../../docs/help/web.md") },
    Topic { name: "history", text: include_str!("../../../../docs/help/history.md") },
    Topic {
        name: "skills-and-subagents",
        text: include_str!("../../../../docs/help/skills-and-subagents.md"),
    },
    Topic { name: "mcp", text: include_str!("../../../../docs/help/mcp.md") },
    Topic { name: "discord", text: include_str!("../../../../docs/help/discord.md") },
    Topic { name: "webhooks", text: include_str!("../../../../docs/help/webhooks.md") },
    Topic { name: "cost", text: include_str!("../../../../docs/help/cost.md") },
    Topic { name: "backup", text: include_str!("../../../../docs/help/backup.md") },
    Topic { name: "troubleshooting", text: include_str!("../../../../docs/help/troubleshooting.md") },
];

/// The most search results that are shown.
const MAX_HITS: usize = 8;

/// Shows help for `words`. A topic takes precedence over a command of the same name, whose usage is
/// appended.
pub fn show(words: &[String], output: &Output) -> Result<ExitCode, CommandError> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let text = match words.as_slice() {
        [] => format!("{}\n\n{}", command_help(&[]).unwrap_or_default(), topics()),
        ["search"] => return Err(CommandError::Usage("search for what? write words after it.".to_owned())),
        ["search", looked_for @ ..] => search(&looked_for.join(" "))?,
        [name] if topic(name).is_some() => topic_with_command(name),
        words => command_help(words).ok_or_else(|| unknown_topic(&words.join(" ")))?,
    };
    print_result(output, &json!({ "text": text }), &text);
    Ok(ExitCode::SUCCESS)
}

fn topic(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name == name)
}

/// Returns a topic, followed by the usage of the command of the same name, if there is one.
fn topic_with_command(name: &str) -> String {
    let text = topic(name).map_or("", |topic| topic.text.trim_end());
    match command_help(&[name]) {
        Some(help) => format!("{text}\n\n{help}"),
        None => text.to_owned(),
    }
}

/// Returns the usage of a command, or of the program.
fn command_help(words: &[&str]) -> Option<String> {
    let mut command = Cli::command();
    command.build();
    let mut found = &mut command;
    for word in words {
        found = found.find_subcommand_mut(word)?;
    }
    Some(found.render_long_help().to_string().trim_end().to_owned())
}

fn topics() -> String {
    let names: Vec<&str> = TOPICS.iter().map(|topic| topic.name).collect();
    format!("topics (ollim-bot help TOPIC, ollim-bot help search WORDS):\n  {}", names.join(", "))
}

/// Returns the sections that contain all words, the one with the most matches first.
fn search(words: &str) -> Result<String, CommandError> {
    let wanted: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let mut found: Vec<(usize, String)> = Vec::new();
    for topic in &TOPICS {
        for part in sections(topic.text) {
            let lower = part.to_lowercase();
            if wanted.iter().all(|word| lower.contains(word.as_str())) {
                let count = wanted.iter().map(|word| lower.matches(word.as_str()).count()).sum();
                found.push((count, format!("[{}]\n{part}", topic.name)));
            }
        }
    }
    if found.is_empty() {
        return Err(CommandError::Failed(format!(
            "nothing in the documentation has `{words}` in it. {}",
            topics()
        )));
    }
    found.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let parts: Vec<String> = found.into_iter().take(MAX_HITS).map(|(_, part)| part).collect();
    Ok(parts.join("\n\n"))
}

/// Splits a page into sections, each from its heading to the next.
fn sections(page: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for line in page.lines() {
        match parts.last_mut() {
            Some(part) if !line.starts_with('#') => *part += &format!("\n{line}"),
            _ => parts.push(line.to_owned()),
        }
    }
    parts.iter().map(|part| part.trim_end().to_owned()).collect()
}

fn unknown_topic(words: &str) -> CommandError {
    let search = "`ollim-bot help search WORDS` looks for words.";
    CommandError::Usage(format!("there is no command and no topic called `{words}`. {search}\n{}", topics()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help_text(line: &str) -> Result<String, CommandError> {
        let output = Output { voice: crate::printer::Printer::capture(), ..Output::default() };
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        show(&words, &output).map(|_| output.voice.captured().text)
    }

    /// SA-10: A topic is shown in full, and a search shows the matching sections.
    #[test]
    fn documentation_is_shown_by_topic_and_searched() {
        assert!(help_text("cost").unwrap().starts_with("# Cost\n"));
        assert!(help_text("forks").unwrap().contains("`/save` makes the side conversation the main one."));
        let found = help_text("search ping budget").unwrap();
        assert!(found.starts_with("[updates]\n# Pings\n"), "{found}");
        assert!(!found.contains("# Updates"), "only the part that has the words");
        let nothing = help_text("search zeppelin").unwrap_err().to_string();
        assert!(nothing.contains("`zeppelin`") && nothing.contains("first-steps, reminders"), "{nothing}");
    }

    #[test]
    fn command_usage_is_shown() {
        let all = help_text("").unwrap();
        assert!(all.starts_with("examples:\n  ollim-bot  ") && all.contains("topics ("), "{all}");
        assert!(help_text("routine add").unwrap().contains("--cron"));
        let history = help_text("history").unwrap();
        assert!(
            history.starts_with("# History") && history.contains("Usage: ollim-bot history"),
            "{history}"
        );
        assert!(help_text("nonsense").unwrap_err().to_string().contains("no command and no topic"));
    }

    /// Every command that the documentation mentions exists.
    #[test]
    fn documentation_mentions_only_existing_commands() {
        for topic in &TOPICS {
            for written in topic.text.split('`').skip(1).step_by(2) {
                let Some(line) = written.strip_prefix("ollim-bot ") else { continue };
                let name = line.split_whitespace().next().unwrap_or_default();
                let known = name.starts_with('-') || name == "help" || command_help(&[name]).is_some();
                let soon = ["mail"].contains(&name);
                assert!(known || soon, "{}: `{written}`", topic.name);
            }
        }
    }
}
