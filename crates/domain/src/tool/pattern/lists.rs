//! Lists of patterns: who wrote them, what is left of them, and what they come to together.

use std::collections::HashSet;
use std::fmt;

use super::{Finding, Folders, Severity, validate, validate_forbidden};
use crate::schedule::ItemId;

/// The most characters of a line that are shown when it is complained about.
const SHOWN: usize = 80;

/// What every run may do: look how our own commands are used.
pub const HELP: &str = "Bash(ollim-bot help)";

/// What the main conversation may do without asking.
pub const MAIN: [&str; 24] = [
    "Bash(ollim-bot tasks *)",
    "Bash(ollim-bot cal *)",
    "Bash(ollim-bot reminder *)",
    "Bash(ollim-bot gmail *)",
    HELP,
    "Bash(claude-history *)",
    "Read(**.md)",
    "Write(**.md)",
    "Edit(**.md)",
    "Glob(**.md)",
    "Grep(**.md)",
    "WebFetch",
    "WebSearch",
    "mcp__discord__discord_embed",
    "mcp__discord__ping_user",
    "mcp__discord__follow_up_chain",
    "mcp__discord__save_context",
    "mcp__discord__report_updates",
    "mcp__discord__enter_fork",
    "mcp__discord__exit_fork",
    "mcp__discord__compact_session",
    "mcp__docs__*",
    "Task",
    "Skill",
];

/// Who wrote a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The program, for the main conversation.
    Main,
    /// A subagent of this name.
    Subagent(String),
    /// The file of a routine.
    Routine(ItemId),
    /// The file of a reminder.
    Reminder(ItemId),
    /// The file of a skill of this name.
    Skill(String),
    /// The file of a webhook.
    Webhook(ItemId),
}

impl Source {
    /// Its place when lists are put together.
    fn rank(&self) -> u8 {
        match self {
            Self::Main => 0,
            Self::Subagent(_) => 1,
            Self::Routine(_) => 2,
            Self::Reminder(_) => 3,
            Self::Skill(_) => 4,
            Self::Webhook(_) => 5,
        }
    }

    /// Whether its list is for the main conversation too. What a job may do is for its own runs.
    fn is_for_main(&self) -> bool {
        match self {
            Self::Main | Self::Subagent(_) | Self::Skill(_) => true,
            Self::Routine(_) | Self::Reminder(_) | Self::Webhook(_) => false,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str("main"),
            Self::Subagent(name) => write!(f, "subagent:{name}"),
            Self::Routine(id) => write!(f, "routine:{id}"),
            Self::Reminder(id) => write!(f, "reminder:{id}"),
            Self::Skill(name) => write!(f, "skill:{name}"),
            Self::Webhook(id) => write!(f, "webhook:{id}"),
        }
    }
}

/// A list as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Who.
    pub source: Source,
    /// The lines.
    pub tools: Vec<String>,
}

impl Declared {
    /// That of the main conversation.
    pub fn main() -> Self {
        Self { source: Source::Main, tools: MAIN.map(str::to_owned).to_vec() }
    }
}

/// Something that is wrong in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Whose list.
    pub source: Source,
    /// The line.
    pub pattern: String,
    /// What is wrong with it.
    pub finding: Finding,
    /// What becomes of the line.
    pub fate: Fate,
}

/// What becomes of a line in which something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It allows nothing.
    LeftOut,
    /// It is kept as it is.
    Kept,
    /// It forbids all that its tool does, because it may mean any of it.
    ForbidsTool,
    /// It forbids nothing, because it names no tool.
    ForbidsNothing,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.pattern.chars().take(SHOWN).collect();
        let cut = if shown.len() < self.pattern.len() { "…" } else { "" };
        let fate = match self.fate {
            Fate::LeftOut => "is left out",
            Fate::Kept => "is kept",
            Fate::ForbidsTool => "forbids all that this tool does",
            Fate::ForbidsNothing => "forbids nothing",
        };
        write!(
            f,
            "{}: the tool pattern `{}{cut}` {fate}: {}",
            self.source,
            shown.escape_debug(),
            self.finding
        )
    }
}

/// What is left of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effective {
    /// The lines that hold.
    pub kept: Vec<String>,
    /// What its writer should know.
    pub complaints: Vec<Complaint>,
}

/// What is left of the list `tools` of `source`: a line with an error is left out.
pub fn effective(tools: &[String], source: &Source, folders: &Folders) -> Effective {
    let mut left = Effective::default();
    for pattern in tools {
        let findings = validate(pattern, folders);
        if findings.iter().all(|finding| finding.severity() == Severity::Warning) {
            left.kept.push(pattern.trim().to_owned());
        }
        let complaint = |finding: Finding| {
            let fate = match finding.severity() {
                Severity::Error => Fate::LeftOut,
                Severity::Warning => Fate::Kept,
            };
            Complaint { source: source.clone(), pattern: pattern.clone(), finding, fate }
        };
        left.complaints.extend(findings.into_iter().map(complaint));
    }
    left
}

/// Finds what is wrong with the list `tools` of what a job must do without.
pub fn forbidden_complaints(tools: &[String], source: &Source) -> Vec<Complaint> {
    let complaints = |pattern: &String| {
        let complaint = |finding: Finding| {
            let fate = match finding {
                Finding::UnknownTool | Finding::Empty => Fate::ForbidsNothing,
                Finding::Unreadable | Finding::EmptyBrackets if pattern.trim().starts_with('(') => {
                    Fate::ForbidsNothing
                }
                Finding::Unreadable
                | Finding::EmptyBrackets
                | Finding::TooBroad
                | Finding::OverlyBroad
                | Finding::Arguments
                | Finding::Domain
                | Finding::Absolute
                | Finding::Chaining
                | Finding::State => Fate::ForbidsTool,
            };
            Complaint { source: source.clone(), pattern: pattern.clone(), finding, fate }
        };
        validate_forbidden(pattern).into_iter().map(complaint).collect::<Vec<_>>()
    };
    tools.iter().flat_map(complaints).collect()
}

/// All lists together, each line once, in the order of their sources.
pub fn for_everyone(declared: &[Declared], folders: &Folders) -> Effective {
    union(declared.iter().collect(), folders)
}

/// What the main conversation may use: nothing that only a job declares.
pub fn for_main(declared: &[Declared], folders: &Folders) -> Effective {
    union(declared.iter().filter(|list| list.source.is_for_main()).collect(), folders)
}

fn union(mut declared: Vec<&Declared>, folders: &Folders) -> Effective {
    declared.sort_by_key(|list| list.source.rank());
    let mut together = Effective::default();
    let mut seen = HashSet::new();
    for list in declared {
        let left = effective(&list.tools, &list.source, folders);
        together.kept.extend(left.kept.into_iter().filter(|pattern| seen.insert(pattern.clone())));
        together.complaints.extend(left.complaints);
    }
    together
}

/// The list of a run, which can always look how our commands are used.
pub fn with_help(mut list: Vec<String>) -> Vec<String> {
    if !list.iter().any(|pattern| pattern.trim() == HELP) {
        list.insert(0, HELP.to_owned());
    }
    list
}
