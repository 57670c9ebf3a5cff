//! Tool patterns: the lines of tool lists in job files.
//!
//! A line is a name or `EntryMark(args)`. Errors are found when the file is read: a line with an error
//! allows nothing.

mod command;
mod foreign;
mod glob;
mod lists;

pub use foreign::{OWN_TOOLS, split_list, translate};
pub use glob::Folders;
pub use lists::{
    DeclaredList, EffectiveList, HELP_TOOL, ListSource, MAIN_TOOLS, PatternDiagnostic, effective_list,
    forbidden_diagnostics, main_list, merged_list, with_help,
};

use super::{ToolCall, ToolClass};
use crate::permission::{Destination, PlannerClock, equivalent_commands, tool_action};

/// The prefix of own tools in the lists of job files.
const OWN_SERVER: &str = "mcp__discord__";

/// The tool that calls server tools.
const SERVER_TOOL: &str = "mcp";

/// Characters with which a shell runs more than one command.
const CHAINING_SIGNS: [&str; 9] = [";", "&", "|", "\n", "\r", "`", "$(", ">", "<"];

/// A valid pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern<'a> {
    name: &'a str,
    coverage: Coverage<'a>,
}

/// The part of a tool that a pattern covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coverage<'a> {
    All,
    /// The calls with these arguments.
    Arguments(&'a str),
}

impl<'a> Pattern<'a> {
    /// Parses a line of a list.
    pub fn parse(text: &'a str) -> Result<Self, PatternIssue> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PatternIssue::Empty);
        }
        let (name, extent) = match text.split_once('(') {
            None => (text, Coverage::All),
            Some((name, rest)) => {
                let args = rest.strip_suffix(')').ok_or(PatternIssue::Unreadable)?.trim();
                (name, Coverage::Arguments(args))
            }
        };
        if name.is_empty() || name.contains(|c: char| c == ')' || c.is_whitespace() || c.is_control()) {
            return Err(PatternIssue::Unreadable);
        }
        match extent {
            Coverage::Arguments("") => Err(PatternIssue::EmptyBrackets),
            Coverage::All | Coverage::Arguments(_) => Ok(Self { name, coverage: extent }),
        }
    }

    /// Returns whether it covers every call of the own tool `name`. Own tools take no arguments in
    /// patterns.
    pub fn matches_tool(self, name: &str) -> bool {
        let own = self.name.strip_prefix(OWN_SERVER);
        self.coverage == Coverage::All && (self.name == name || own == Some(name) || own == Some("*"))
    }

    /// Returns whether it allows every call of the own tool `name`. An unrestricted write could
    /// reach `state/`, so such a line allows nothing.
    pub fn allows_tool(self, name: &str) -> bool {
        self.matches_tool(name) && !self.writes()
    }

    /// Returns whether it has arguments.
    pub fn is_narrow(self) -> bool {
        self.coverage != Coverage::All
    }

    /// Returns whether it alone allows `call`. It must cover every part of a shell command.
    pub fn covers(self, call: &ToolCall) -> bool {
        covers_together(std::iter::once(self), call)
    }

    fn covers_alone(self, call: &ToolCall) -> bool {
        let given = |key: &str| call.input.text(key);
        if call.name == SERVER_TOOL && self.name != SERVER_TOOL {
            return self.coverage == Coverage::All && self.is_of_server(&given("tool").unwrap_or_default());
        }
        let part = match self.coverage {
            Coverage::All => return self.allows_tool(&call.name),
            Coverage::Arguments(part) => part,
        };
        if self.name != call.name {
            return false;
        }
        match self.name {
            "Bash" => given("command").is_some_and(|command| command::covers_all(std::iter::once(part), &command)),
            "WebFetch" => part.strip_prefix(DOMAIN_PREFIX).is_some_and(|domain| {
                matches!(tool_action(call, ToolClass::Fetches).destination, Destination::Address { host, .. } if is_in_domain(&host, domain))
            }),
            "Write" | "Edit" => given("file_path").is_some_and(|path| glob::covers(part, &path)),
            "Read" => given("file_path").is_some_and(|path| glob::covers_like_gitignore(part, &path)),
            // Without a path, the whole data directory is searched.
            "Glob" => given("pattern").is_some_and(|pattern| glob::covers_like_gitignore(part, &pattern)),
            "Grep" => given("path")
                .map_or(part.starts_with("**"), |path| glob::covers_like_gitignore(part, &path)),
            "Skill" => given("skill").is_some_and(|skill| skill.trim() == part) || part == "*",
            "Task" => given("subagent_type").is_some_and(|agent| agent.trim() == part) || part == "*",
            _ => part == "*",
        }
    }

    /// Returns whether it forbids `call` as a line of an exclusion list. Calls that cannot be
    /// compared are forbidden, because they could be meant. Planner text is read with `clock`.
    pub fn forbids(self, call: &ToolCall, clock: Option<&PlannerClock>) -> bool {
        let given = |key: &str| call.input.text(key);
        if call.name == SERVER_TOOL && self.name != SERVER_TOOL {
            // The arguments of server tools cannot be compared, so the whole tool is meant.
            return self.is_of_server(&given("tool").unwrap_or_default());
        }
        let part = match self.coverage {
            Coverage::All => return self.matches_tool(&call.name),
            Coverage::Arguments(part) => part,
        };
        if self.name == "Bash"
            && shell_equivalents(call, clock).iter().any(|command| command::may_run(part, command))
        {
            return true;
        }
        match (self.name, call.name.as_str()) {
            ("Bash", "Bash") => given("command").is_some_and(|command| command::may_run(part, &command)),
            ("WebFetch", "WebFetch") => match part.strip_prefix(DOMAIN_PREFIX) {
                Some(domain) => match tool_action(call, ToolClass::Fetches).destination {
                    Destination::Address { host, .. } => !is_plain(&host) || is_in_domain(&host, domain),
                    Destination::Local
                    | Destination::Search
                    | Destination::Server
                    | Destination::ServerAddress(_)
                    | Destination::File(_) => true,
                },
                None => true,
            },
            // A rule about edits applies to every tool that changes a file.
            ("Write" | "Edit", "Write" | "Edit") | ("Read", "Read") => {
                given("file_path").is_some_and(|path| glob::disallows(part, &path))
            }
            // `Grep` shows the content of files.
            ("Read" | "Grep", "Grep") => glob::disallows_beneath(part, &given("path").unwrap_or_default()),
            ("Glob", "Glob") => {
                let pattern = given("pattern").unwrap_or_default();
                let fixed: Vec<&str> =
                    pattern.split('/').take_while(|name| !name.contains(['*', '?'])).collect();
                let folder = [given("path").unwrap_or_default(), fixed.join("/")].join("/");
                glob::disallows_beneath(part, folder.trim_start_matches('/'))
            }
            ("Skill", "Skill") => part == "*" || given("skill").is_some_and(|skill| skill.trim() == part),
            ("Task", "Task") => {
                part == "*" || given("subagent_type").is_some_and(|agent| agent.trim() == part)
            }
            // The arguments of other tools cannot be compared, so the whole tool is meant.
            (_, called) => {
                let own = self.name.strip_prefix(OWN_SERVER).unwrap_or(self.name);
                own == called && !takes_arguments(own)
            }
        }
    }

    /// Returns whether it names `tool` of another server. `mcp__notes` and `mcp__notes__*` name all tools of one server.
    fn is_of_server(self, tool: &str) -> bool {
        if !self.name.starts_with("mcp__") {
            return false;
        }
        match self.name.strip_suffix('*') {
            Some(start) => tool.starts_with(start),
            None => {
                let server = tool.strip_prefix(self.name).is_some_and(|rest| rest.starts_with("__"));
                tool == self.name || (server && !self.name["mcp__".len()..].contains("__"))
            }
        }
    }

    fn writes(self) -> bool {
        matches!(self.name, "Write" | "Edit")
    }

    /// Returns why it cannot be compared with calls; `None` if it can.
    fn incomparable_reason(self) -> Option<PatternIssue> {
        let own = self.name.strip_prefix(OWN_SERVER).unwrap_or(self.name);
        let is_known = OWN_TOOLS.contains(&own) || own == "*" || self.name.starts_with("mcp__");
        match (own, self.coverage) {
            _ if !is_known => Some(PatternIssue::UnknownTool),
            (_, Coverage::All | Coverage::Arguments("*")) => None,
            ("Bash", Coverage::Arguments(part)) => {
                CHAINING_SIGNS.iter().any(|sign| part.contains(sign)).then_some(PatternIssue::Chaining)
            }
            ("WebFetch", Coverage::Arguments(part)) => {
                (!part.starts_with(DOMAIN_PREFIX)).then_some(PatternIssue::Domain)
            }
            ("Read" | "Write" | "Edit" | "Glob" | "Grep", Coverage::Arguments(part)) => {
                (!glob::is_relative(part)).then_some(PatternIssue::Absolute)
            }
            (name, Coverage::Arguments(_)) => (!takes_arguments(name)).then_some(PatternIssue::Arguments),
        }
    }

    /// Returns the issues of the pattern with these `folders`.
    fn issues(self, folders: &Folders) -> Vec<PatternIssue> {
        let mut findings = Vec::new();
        findings.extend(self.incomparable_reason().filter(|finding| {
            // Shell commands and write paths have their own checks.
            *finding != PatternIssue::Chaining && !(*finding == PatternIssue::Absolute && self.writes())
        }));
        match (self.name, self.coverage) {
            ("Bash", Coverage::Arguments(command)) => {
                // `Bash(:*)` is another spelling of `Bash(*)`.
                if command.chars().all(|c| matches!(c, '*' | ':') || c.is_whitespace()) {
                    findings.push(PatternIssue::TooBroad);
                }
                if CHAINING_SIGNS.iter().any(|sign| command.contains(sign)) {
                    findings.push(PatternIssue::Chaining);
                }
            }
            (_, Coverage::Arguments("*")) => findings.push(PatternIssue::OverlyBroad),
            (_, Coverage::All | Coverage::Arguments(_)) => {}
        }
        let glob = match self.coverage {
            Coverage::All => "**",
            Coverage::Arguments(glob) => glob,
        };
        if self.writes() && glob::reaches_state(glob, folders) {
            findings.push(PatternIssue::WritesState);
        }
        findings
    }
}

/// The prefix of the domain in a pattern of `WebFetch`.
const DOMAIN_PREFIX: &str = "domain:";

/// Returns whether the patterns of a list together allow `call`. The parts of a shell command may
/// be covered by different patterns.
pub fn covers_together<'a>(patterns: impl Iterator<Item = Pattern<'a>> + Clone, call: &ToolCall) -> bool {
    if patterns.clone().any(|pattern| pattern.covers_alone(call)) {
        return true;
    }
    let part_of_bash = |pattern: Pattern<'a>| match pattern.coverage {
        Coverage::Arguments(part) if pattern.name == "Bash" => Some(part),
        Coverage::Arguments(_) | Coverage::All => None,
    };
    let command = call.input.text("command").filter(|_| call.name == "Bash");
    command.is_some_and(|command| command::covers_all(patterns.filter_map(part_of_bash), &command))
}

/// Returns whether the line `text` of an exclusion list forbids `call`. An invalid line forbids the
/// whole tool, as far as its name can be read.
pub fn forbids(text: &str, call: &ToolCall, clock: Option<&PlannerClock>) -> bool {
    match Pattern::parse(text) {
        Ok(pattern) => pattern.forbids(call, clock),
        Err(_) => {
            let name = text.split('(').next().unwrap_or_default().trim();
            !name.is_empty() && (Pattern { name, coverage: Coverage::All }).forbids(call, clock)
        }
    }
}

/// Like [`forbids`], for a program that is started with these words without a shell.
pub fn forbids_program(text: &str, words: &[String]) -> bool {
    match Pattern::parse(text) {
        Ok(Pattern { name: "Bash", coverage: Coverage::All }) => true,
        Ok(Pattern { name: "Bash", coverage: Coverage::Arguments(part) }) => command::runs(part, words),
        Ok(_) => false,
        Err(_) => text.trim().starts_with("Bash("),
    }
}

/// Returns the shell commands of this program that are equivalent to a call of an own tool.
fn shell_equivalents(call: &ToolCall, clock: Option<&PlannerClock>) -> Vec<&'static str> {
    let commands: &[&str] = match call.name.as_str() {
        "inbox_add" => &["ollim-bot inbox add x"],
        "inbox_list" => &["ollim-bot inbox", "ollim-bot inbox list"],
        "inbox_remove" => &["ollim-bot inbox remove x"],
        "status" => &["ollim-bot status"],
        _ => &[],
    };
    commands.iter().copied().chain(equivalent_commands(call, clock)).collect()
}

/// Returns whether the arguments of a tool can be compared with what a pattern has in parentheses.
fn takes_arguments(name: &str) -> bool {
    matches!(name, "Bash" | "WebFetch" | "Read" | "Write" | "Edit" | "Glob" | "Grep" | "Skill" | "Task")
}

/// Returns whether all parsers read the same name in `host`.
fn is_plain(host: &str) -> bool {
    !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c))
}

/// Returns whether `host` is `domain` or a subdomain of it.
fn is_in_domain(host: &str, domain: &str) -> bool {
    let domain = domain.trim().to_ascii_lowercase();
    let domain = domain.strip_prefix("*.").unwrap_or(&domain).trim_end_matches('.');
    host == domain || host.strip_suffix(domain).is_some_and(|rest| !domain.is_empty() && rest.ends_with('.'))
}

/// Returns the issues of the line `text` of an exclusion list; empty if it can be compared with
/// calls. Other lines forbid the whole tool, see [`forbids`].
pub fn validate_forbidden(text: &str) -> Vec<PatternIssue> {
    match Pattern::parse(text) {
        Ok(pattern) => pattern.incomparable_reason().into_iter().collect(),
        Err(finding) => vec![finding],
    }
}

/// Returns the text about an excluded line for the model; `None` if the line forbids nothing.
pub fn forbidden_text(text: &str) -> Option<String> {
    let text = text.trim();
    let name = text.split('(').next().unwrap_or_default().trim();
    match validate_forbidden(text).first() {
        None => Some(text.to_owned()),
        Some(PatternIssue::Empty | PatternIssue::UnknownTool) => None,
        Some(_) if name.is_empty() => None,
        Some(_) => Some(format!("{name} (all of it, because `{text}` cannot be compared)")),
    }
}

/// Returns whether a line of an allow list allows nothing, independent of the data directory.
pub fn allows_nothing(text: &str) -> bool {
    let broken = |finding: PatternIssue| finding.severity() == Severity::Error;
    Pattern::parse(text).map_or(true, |pattern| {
        let is_everything = pattern.writes() && pattern.coverage == Coverage::All;
        is_everything || pattern.incomparable_reason().is_some_and(broken)
    })
}

/// Returns the issues of the line `text` of an allow list; empty if it is valid.
pub fn validate(text: &str, folders: &Folders) -> Vec<PatternIssue> {
    Pattern::parse(text).map_or_else(|finding| vec![finding], |pattern| pattern.issues(folders))
}

/// The severity of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Warning,
    /// The line is ignored.
    Error,
}

/// An issue of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternIssue {
    #[error("it is empty. write the name of a tool, such as `WebFetch`, or remove the line.")]
    Empty,
    #[error("it is no pattern. write a name, such as `WebFetch`, or `Name(args)`, such as `Read(**.md)`.")]
    Unreadable,
    #[error("its brackets are empty. say in them what is allowed, or leave them away.")]
    EmptyBrackets,
    #[error("it is too broad: it allows every command. name one, such as `Bash(ollim-bot help)`.")]
    TooBroad,
    #[error(
        "no tool has this name. the tools are named in the user guide, such as `Read`, `Bash` and `mcp__notes__*`."
    )]
    UnknownTool,
    #[error("the arguments of this tool cannot be compared. leave out the brackets and what is in them.")]
    Arguments,
    #[error("write a domain, such as `WebFetch(domain:example.com)`.")]
    Domain,
    #[error("its path does not lead from the data directory on. write one such as `Read(notes/**)`.")]
    Absolute,
    #[error(
        "it allows chaining commands. leave out `;`, `&`, `|`, `<`, `>`, backticks, `$(` and line breaks, and write \
         one line for each command."
    )]
    Chaining,
    #[error("it is overly broad: it allows everything this tool can do. narrow it, such as `Read(**.md)`.")]
    OverlyBroad,
    #[error(
        "it could write into `state/`, where only the program writes. narrow it, such as `Write(**.md)`."
    )]
    WritesState,
}

impl PatternIssue {
    pub fn severity(self) -> Severity {
        match self {
            Self::OverlyBroad | Self::UnknownTool => Severity::Warning,
            Self::Empty
            | Self::Unreadable
            | Self::EmptyBrackets
            | Self::TooBroad
            | Self::Arguments
            | Self::Domain
            | Self::Absolute
            | Self::Chaining
            | Self::WritesState => Severity::Error,
        }
    }
}

#[cfg(test)]
mod tests;
