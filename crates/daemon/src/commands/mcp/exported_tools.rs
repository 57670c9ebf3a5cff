//! The tools that other agents can call; each runs one of our commands.

use clap::Parser;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cli::Cli;
use crate::in_process_cli::{FailedCommand, InProcessCli};

struct ExportedTool {
    name: &'static str,
    description: &'static str,
    /// The JSON Schema of the input.
    schema: &'static str,
    /// Converts the input to command-line arguments, or says what is wrong with it.
    to_args: fn(Value) -> Result<Vec<String>, String>,
    effect: Effect,
}

/// The effect of a tool on the user's data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    ReadOnly,
    Adding,
}

const TOOLS: [ExportedTool; 8] = [
    ExportedTool {
        name: "capture",
        description: "Keeps or plans something in plain words, such as `call the dentist tomorrow at 10`. Words without \
                      a time go to the inbox.",
        schema: r#"{"type":"object","required":["text"],"properties":{"text":{"type":"string","minLength":1,"maxLength":4000}},"additionalProperties":false}"#,
        to_args: |input| {
            let TextInput { text } = parse_input(input)?;
            Ok(vec!["add".to_owned(), "--".to_owned(), non_empty("text", text)?])
        },
        effect: Effect::Adding,
    },
    ExportedTool {
        name: "today",
        description: "Tells what is left of today, or what is planned on a day: `tomorrow`, `friday`, `24.12.`, `week`.",
        schema: r#"{"type":"object","properties":{"day":{"type":"string"}},"additionalProperties":false}"#,
        to_args: |input| {
            let DayInput { day } = parse_input(input)?;
            let day = day.map(|day| non_empty("day", day)).transpose()?;
            let day = day.into_iter().flat_map(|day| ["--".to_owned(), day]);
            Ok(["today".to_owned()].into_iter().chain(day).collect())
        },
        effect: Effect::ReadOnly,
    },
    ExportedTool {
        name: "inbox",
        description: "Lists what was kept without a time, oldest first.",
        schema: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        to_args: |input| parse_input(input).map(|NoInput {}| to_strings(&["inbox", "list"])),
        effect: Effect::ReadOnly,
    },
    ExportedTool {
        name: "reminders",
        description: "Lists the reminders that are still to come, with their times.",
        schema: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        to_args: |input| parse_input(input).map(|NoInput {}| to_strings(&["reminder", "list"])),
        effect: Effect::ReadOnly,
    },
    ExportedTool {
        name: "tasks_list",
        description: "Lists the tasks that are still to be done.",
        schema: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        to_args: |input| parse_input(input).map(|NoInput {}| to_strings(&["tasks", "list"])),
        effect: Effect::ReadOnly,
    },
    ExportedTool {
        name: "tasks_add",
        description: "Adds a task, with the day it is due (YYYY-MM-DD) if there is one.",
        schema: r#"{"type":"object","required":["title"],"properties":{"title":{"type":"string","minLength":1,"maxLength":1000},"due":{"type":"string"},"notes":{"type":"string"}},"additionalProperties":false}"#,
        to_args: |input| {
            let TaskInput { title, due, notes } = parse_input(input)?;
            let flag = |name: &str, value: Option<String>| value.map(|value| format!("--{name}={value}"));
            let flags = flag("due", due).into_iter().chain(flag("notes", notes));
            let title = ["--".to_owned(), non_empty("title", title)?];
            Ok(to_strings(&["tasks", "add"]).into_iter().chain(flags).chain(title).collect())
        },
        effect: Effect::Adding,
    },
    ExportedTool {
        name: "calendar",
        description: "Tells what is in the calendar in the next days, today included (7 if `days` is not given).",
        schema: r#"{"type":"object","properties":{"days":{"type":"integer","minimum":1,"maximum":366}},"additionalProperties":false}"#,
        to_args: |input| {
            let DaysInput { days } = parse_input(input)?;
            Ok(to_strings(&["cal", "upcoming", &format!("--days={}", days.unwrap_or(7))]))
        },
        effect: Effect::ReadOnly,
    },
    ExportedTool {
        name: "history_search",
        description: "Finds where words were said in the human's conversations with the assistant, the best places first. \
                      `since` is a length such as `7d` or a day such as `2026-11-01`.",
        schema: r#"{"type":"object","required":["words"],"properties":{"words":{"type":"string","minLength":1,"maxLength":400},"since":{"type":"string"},"page":{"type":"integer","minimum":1}},"additionalProperties":false}"#,
        to_args: |input| {
            let SearchInput { words, since, page } = parse_input(input)?;
            let since = since.map(|since| format!("--since={since}"));
            let page = page.map(|page| format!("--page={page}"));
            let words = ["--".to_owned(), non_empty("words", words)?];
            Ok(to_strings(&["history", "search"]).into_iter().chain(since).chain(page).chain(words).collect())
        },
        effect: Effect::ReadOnly,
    },
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoInput {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextInput {
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DayInput {
    day: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskInput {
    title: String,
    due: Option<String>,
    notes: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DaysInput {
    days: Option<u16>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchInput {
    words: String,
    since: Option<String>,
    page: Option<u32>,
}

/// Runs the tools.
pub struct ExportedTools {
    commands: InProcessCli,
}

impl ExportedTools {
    pub fn new(own: InProcessCli) -> Self {
        Self { commands: own }
    }

    /// Runs the tool `name` with `input`. Returns `None` if there is no such tool.
    pub async fn call(&self, name: &str, input: &Value) -> Option<Result<String, String>> {
        let tool = TOOLS.iter().find(|tool| tool.name == name)?;
        let input = if input.is_null() { json!({}) } else { input.clone() };
        Some(match (tool.to_args)(input).and_then(|words| parse_cli(&words)) {
            Ok(cli) => {
                self.commands.run_parsed(cli).await.map(|told| told.text).map_err(FailedCommand::into_text)
            }
            Err(wrong) => Err(format!("that does not fit `{name}`: {wrong}")),
        })
    }
}

/// Returns the answer of `tools/list`.
pub fn list() -> Vec<Value> {
    let tool = |tool: &ExportedTool| {
        let schema: Value = serde_json::from_str(tool.schema).unwrap_or_default();
        let notes = json!({ "readOnlyHint": tool.effect == Effect::ReadOnly, "destructiveHint": false });
        json!({ "name": tool.name, "description": tool.description, "inputSchema": schema, "annotations": notes })
    };
    TOOLS.iter().map(tool).collect()
}

fn parse_cli(words: &[String]) -> Result<Cli, String> {
    let line = ["ollim-bot"].into_iter().chain(words.iter().map(String::as_str));
    Cli::try_parse_from(line).map_err(|error| error.to_string().trim_end().to_owned())
}

fn parse_input<T: DeserializeOwned>(input: Value) -> Result<T, String> {
    serde_json::from_value(input).map_err(|error| format!("{error}."))
}

/// Rejects empty text, and `-`, which would read stdin.
fn non_empty(field: &str, text: String) -> Result<String, String> {
    match text.trim() {
        "" | "-" => Err(format!("`{field}` says nothing. write what is meant.")),
        _ => Ok(text),
    }
}

fn to_strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: &str, input: Value) -> Result<Vec<String>, String> {
        let tool = TOOLS.iter().find(|tool| tool.name == name).unwrap();
        (tool.to_args)(input).inspect(|words| drop(parse_cli(words).unwrap()))
    }

    /// Input of another agent is always text, never a flag.
    #[test]
    fn tool_input_is_never_a_flag() {
        let check = |name: &str, input: Value, expected: &[&str]| {
            assert_eq!(words(name, input).unwrap(), expected, "{name}");
        };
        check("capture", json!({"text": "--data-dir /x"}), &["add", "--", "--data-dir /x"]);
        check("today", json!({"day": "--json"}), &["today", "--", "--json"]);
        check("today", json!({}), &["today"]);
        check("calendar", json!({"days": 3}), &["cal", "upcoming", "--days=3"]);
        check(
            "tasks_add",
            json!({"title": "-x", "due": "2026-11-20", "notes": "--y"}),
            &["tasks", "add", "--due=2026-11-20", "--notes=--y", "--", "-x"],
        );
        check(
            "history_search",
            json!({"words": "--json", "since": "7d"}),
            &["history", "search", "--since=7d", "--", "--json"],
        );
        for (name, wrong) in [
            ("capture", json!({"text": "-"})),
            ("capture", json!({"text": " "})),
            ("capture", json!({})),
            ("capture", json!({"text": 1})),
            ("inbox", json!({"x": 1})),
            ("today", json!([1])),
            ("calendar", json!({"days": -1})),
        ] {
            assert!(words(name, wrong.clone()).is_err(), "{name} {wrong}");
        }
    }

    #[test]
    fn every_tool_has_a_schema_that_takes_an_object() {
        for tool in list() {
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        }
    }
}
