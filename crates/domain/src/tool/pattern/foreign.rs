//! Tool patterns of other agents in skills: splits and translates them.
//!
//! The specification of Agent Skills leaves tool names to the agent. Most skills use those of
//! Claude Code, which are the same here; the names of other agents are mapped to equivalent tools.

use super::{Coverage, OWN_SERVER, Pattern};

/// The own tools by name. A test of the crate `tools` compares this with the existing tools.
pub const OWN_TOOLS: [&str; 24] = [
    "inbox_add",
    "inbox_list",
    "inbox_remove",
    "schedule",
    "status",
    "discord_embed",
    "ping_user",
    "follow_up_chain",
    "enter_fork",
    "report_updates",
    "save_context",
    "exit_fork",
    "compact_session",
    "Read",
    "Write",
    "Edit",
    "Glob",
    "Grep",
    "Bash",
    "WebFetch",
    "WebSearch",
    "Skill",
    "Task",
    "mcp",
];

/// Names of other agents' tools in lower case, and the equivalent own tool.
const ALIASES: [(&str, &str); 24] = [
    // Claude Code.
    ("multiedit", "Edit"),
    ("ls", "Glob"),
    ("agent", "Task"),
    // Codex, Gemini CLI, opencode, Copilot.
    ("shell", "Bash"),
    ("execute", "Bash"),
    ("run_shell_command", "Bash"),
    ("run_terminal_cmd", "Bash"),
    ("terminal", "Bash"),
    ("view", "Read"),
    ("read_file", "Read"),
    ("read_many_files", "Read"),
    ("write_file", "Write"),
    ("create_file", "Write"),
    ("edit_file", "Edit"),
    ("replace", "Edit"),
    ("str_replace", "Edit"),
    ("list", "Glob"),
    ("list_directory", "Glob"),
    ("search_file_content", "Grep"),
    ("grep_search", "Grep"),
    ("web_fetch", "WebFetch"),
    ("fetch", "WebFetch"),
    ("web_search", "WebSearch"),
    ("google_web_search", "WebSearch"),
];

/// Splits a list of tool patterns in one string at spaces and commas that are not in parentheses.
pub fn split_list(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let separates = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    };
    text.split(separates).filter(|pattern| !pattern.is_empty()).map(str::to_owned).collect()
}

/// Translates a pattern of a skill; `None` if there is no equivalent tool.
///
/// `Bash(git:*)` becomes `Bash(git *)`, which does not cover other programs whose names begin with `git`. `Write` and
/// `Edit` without a path are narrowed to notes, because a pattern that covers `state/` allows nothing.
pub fn translate(text: &str) -> Option<String> {
    let pattern = Pattern::parse(text).ok()?;
    if pattern.name.starts_with("mcp__") && !pattern.name.starts_with(OWN_SERVER) {
        return Some(text.trim().to_owned());
    }
    let own_server = pattern.name.strip_prefix(OWN_SERVER);
    if own_server.is_some_and(|name| name == "*" || OWN_TOOLS.contains(&name)) {
        return Some(text.trim().to_owned());
    }
    let name = own_name(pattern.name)?;
    let part = match pattern.coverage {
        Coverage::All if matches!(name, "Write" | "Edit") => "**.md".to_owned(),
        Coverage::All => return Some(name.to_owned()),
        Coverage::Arguments(part) if name == "Bash" => {
            part.strip_suffix(":*").map_or_else(|| part.to_owned(), |start| format!("{start} *"))
        }
        Coverage::Arguments(part) if takes_argument(name) => part.to_owned(),
        Coverage::Arguments("*") => return Some(name.to_owned()),
        Coverage::Arguments(_) => return None,
    };
    Some(format!("{name}({part})"))
}

/// Returns the own name of a tool that another agent calls `name`.
fn own_name(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    let own = OWN_TOOLS.into_iter().find(|own| own.to_lowercase() == lower);
    own.or_else(|| ALIASES.into_iter().find(|(alias, _)| *alias == lower).map(|(_, own)| own))
}

/// Returns whether calls of a tool are compared with the text in parentheses.
fn takes_argument(name: &str) -> bool {
    matches!(name, "Read" | "Write" | "Edit" | "Glob" | "Grep" | "WebFetch")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_list_is_split_outside_parentheses() {
        let check = |text: &str, expected: &[&str]| assert_eq!(split_list(text), expected, "{text}");
        check("Bash(git:*) Bash(jq:*) Read", &["Bash(git:*)", "Bash(jq:*)", "Read"]);
        check("Read, Write,Edit", &["Read", "Write", "Edit"]);
        check("Bash(git commit -m 'a, b') , Read", &["Bash(git commit -m 'a, b')", "Read"]);
        check("Bash(f(a b) c) Read", &["Bash(f(a b) c)", "Read"]);
        check("Read\n  Grep", &["Read", "Grep"]);
        check("Bash(git Read", &["Bash(git Read"]);
        check(") Read", &[")", "Read"]);
        check("  ", &[]);
    }

    #[test]
    fn tools_of_other_agents_are_translated() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(translate(text).as_deref(), expected, "{text}");
        };
        for same in
            ["Read", "Grep", "Glob", "WebSearch", "WebFetch(domain:docs.rs)", "Read(notes/**)", "Skill"]
        {
            check(same, Some(same));
        }
        for same in
            ["mcp__notes__find", "mcp__discord__ping_user", "mcp__discord__*", "Bash(ollim-bot tasks *)"]
        {
            check(same, Some(same));
        }
        check("Bash(git:*)", Some("Bash(git *)"));
        check("Bash(npm run test:*)", Some("Bash(npm run test *)"));
        check("run_shell_command(git:*)", Some("Bash(git *)"));
        check("bash", Some("Bash"));
        check("Write", Some("Write(**.md)"));
        check("MultiEdit", Some("Edit(**.md)"));
        check("Write(docs/**)", Some("Write(docs/**)"));
        check("LS", Some("Glob"));
        check("Agent(*)", Some("Task"));
        for unknown in
            ["NotebookEdit", "TodoWrite", "Deploy(x)", "Agent(x)", "mcp__discord__none", "Bash(", "", "()"]
        {
            check(unknown, None);
        }
    }
}
