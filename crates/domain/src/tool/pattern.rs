//! Tool patterns: the lines of the lists in which files say what a job may use.
//!
//! A line is a name or `Name(args)`. What is wrong with a line is found here, before anybody relies on it: a line
//! with an error allows nothing.

mod foreign;
mod glob;
mod lists;

pub use foreign::{OWN_TOOLS, split_list, translate};
pub use glob::Folders;
pub use lists::{
    Complaint, Declared, Effective, HELP, MAIN, Source, effective, for_everyone, for_main, with_help,
};

use super::{Class, ToolCall};
use crate::permission::{To, deed, own_command};

/// What stands before the name of a tool of ours in the lists of job files.
const OWN_SERVER: &str = "mcp__discord__";

/// The tool that calls tools of other servers.
const SERVERS: &str = "mcp";

/// What lets a shell do more than the one command that a pattern shows.
const CHAINING: [&str; 9] = [";", "&", "|", "\n", "\r", "`", "$(", ">", "<"];

/// A pattern that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern<'a> {
    name: &'a str,
    extent: Extent<'a>,
}

/// How much of a tool a pattern is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent<'a> {
    /// All that it can do.
    Whole,
    /// What stands in the brackets.
    Part(&'a str),
}

impl<'a> Pattern<'a> {
    /// Reads a line of a list.
    pub fn read(text: &'a str) -> Result<Self, Finding> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Finding::Empty);
        }
        let (name, extent) = match text.split_once('(') {
            None => (text, Extent::Whole),
            Some((name, rest)) => {
                let args = rest.strip_suffix(')').ok_or(Finding::Unreadable)?.trim();
                (name, Extent::Part(args))
            }
        };
        if name.is_empty() || name.contains(|c: char| c == ')' || c.is_whitespace() || c.is_control()) {
            return Err(Finding::Unreadable);
        }
        match extent {
            Extent::Part("") => Err(Finding::EmptyBrackets),
            Extent::Whole | Extent::Part(_) => Ok(Self { name, extent }),
        }
    }

    /// Whether it is about every call of the tool `name` of ours. With something in brackets it is about tools that
    /// are not ours.
    pub fn names(self, name: &str) -> bool {
        let own = self.name.strip_prefix(OWN_SERVER);
        self.extent == Extent::Whole && (self.name == name || own == Some(name) || own == Some("*"))
    }

    /// Whether it lets every call of the tool `name` of ours through. Who could write anywhere could write into
    /// `state/`, so such a line is wrong wherever the data directory is, and lets nothing through.
    pub fn allows(self, name: &str) -> bool {
        self.names(name) && !self.writes()
    }

    /// Whether it says more than the name of a tool.
    pub fn is_narrow(self) -> bool {
        self.extent != Extent::Whole
    }

    /// Whether it lets `call` through.
    pub fn covers(self, call: &ToolCall) -> bool {
        let given = |key: &str| call.input.text(key);
        if call.name == SERVERS && self.name != SERVERS {
            // `mcp__notes__*` is about what is called through the one tool for all servers.
            let (start, whole) =
                self.name.strip_suffix('*').map_or((self.name, true), |start| (start, false));
            let tool = given("tool").unwrap_or_default();
            let like = if whole { tool == start } else { tool.starts_with(start) };
            return self.extent == Extent::Whole && start.starts_with("mcp__") && like;
        }
        let part = match self.extent {
            Extent::Whole => return self.allows(&call.name),
            Extent::Part(part) => part,
        };
        if self.name != call.name {
            return false;
        }
        match self.name {
            "Bash" => given("command").is_some_and(|command| own_command::is_like(part, &command)),
            "WebFetch" => part.strip_prefix("domain:").is_some_and(|domain| {
                matches!(deed(call, Class::Fetches).to, To::Address { host, .. } if is_at(&host, domain))
            }),
            "Read" | "Write" | "Edit" => given("file_path").is_some_and(|path| glob::covers(part, &path)),
            // Who does not say where looks everywhere.
            "Glob" => given("pattern").is_some_and(|pattern| glob::covers(part, &pattern)),
            "Grep" => given("path").map_or(part.starts_with("**"), |path| glob::covers(part, &path)),
            _ => part == "*",
        }
    }

    fn writes(self) -> bool {
        matches!(self.name, "Write" | "Edit")
    }

    /// What is wrong with it, where things are in `folders`.
    fn findings(self, folders: &Folders) -> Vec<Finding> {
        let mut findings = Vec::new();
        match (self.name, self.extent) {
            ("Bash", Extent::Part(command)) => {
                // `Bash(:*)` is another way to write `Bash(*)`.
                if command.chars().all(|c| matches!(c, '*' | ':') || c.is_whitespace()) {
                    findings.push(Finding::TooBroad);
                }
                if CHAINING.iter().any(|sign| command.contains(sign)) {
                    findings.push(Finding::Chaining);
                }
            }
            (_, Extent::Part("*")) => findings.push(Finding::OverlyBroad),
            (_, Extent::Whole | Extent::Part(_)) => {}
        }
        let glob = match self.extent {
            Extent::Whole => "**",
            Extent::Part(glob) => glob,
        };
        if self.writes() && glob::reaches_state(glob, folders) {
            findings.push(Finding::State);
        }
        findings
    }
}

/// Whether `host` is `domain` or beneath it.
fn is_at(host: &str, domain: &str) -> bool {
    let domain = domain.trim().to_ascii_lowercase();
    host == domain || host.strip_suffix(&domain).is_some_and(|rest| !domain.is_empty() && rest.ends_with('.'))
}

/// What is wrong with the line `text` of a list: nothing, if all is well.
pub fn validate(text: &str, folders: &Folders) -> Vec<Finding> {
    Pattern::read(text).map_or_else(|finding| vec![finding], |pattern| pattern.findings(folders))
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The line is kept.
    Warning,
    /// The line is left out.
    Error,
}

/// What can be wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// Nothing stands there.
    #[error("it is empty. write the name of a tool, such as `WebFetch`, or remove the line.")]
    Empty,
    /// It is neither of the two forms.
    #[error("it is no pattern. write a name, such as `WebFetch`, or `Name(args)`, such as `Read(**.md)`.")]
    Unreadable,
    /// The brackets say nothing.
    #[error("its brackets are empty. say in them what is allowed, or leave them away.")]
    EmptyBrackets,
    /// Every command.
    #[error("it is too broad: it allows every command. name one, such as `Bash(ollim-bot help)`.")]
    TooBroad,
    /// More commands than it shows.
    #[error(
        "it allows chaining commands. leave out `;`, `&`, `|`, `<`, `>`, backticks, `$(` and line breaks, and write \
         one line for each command."
    )]
    Chaining,
    /// All that some tool can do.
    #[error("it is overly broad: it allows everything this tool can do. narrow it, such as `Read(**.md)`.")]
    OverlyBroad,
    /// Where only the program writes.
    #[error(
        "it could write into `state/`, where only the program writes. narrow it, such as `Write(**.md)`."
    )]
    State,
}

impl Finding {
    /// How bad it is.
    pub fn severity(self) -> Severity {
        match self {
            Self::OverlyBroad => Severity::Warning,
            Self::Empty
            | Self::Unreadable
            | Self::EmptyBrackets
            | Self::TooBroad
            | Self::Chaining
            | Self::State => Severity::Error,
        }
    }
}

#[cfg(test)]
mod tests;
