//! Tool lists: their source, their valid lines, and their union.

use std::collections::HashSet;
use std::fmt;

use super::{Folders, PatternIssue, Severity, validate, validate_forbidden};
use crate::schedule::ItemId;

/// The most characters of a line in a diagnostic.
const MAX_SHOWN_CHARS: usize = 80;

/// The tool that every run may use: the help of the program's commands.
pub const HELP_TOOL: &str = "Bash(ollim-bot help)";

/// The tools that the main conversation may use without asking.
pub const MAIN_TOOLS: [&str; 24] = [
    "Bash(ollim-bot tasks *)",
    "Bash(ollim-bot cal *)",
    "Bash(ollim-bot reminder *)",
    "Bash(ollim-bot gmail *)",
    HELP_TOOL,
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

/// The source of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListSource {
    Main,
    /// A subagent with this name.
    Subagent(String),
    /// A routine's file.
    Routine(ItemId),
    /// A reminder's file.
    Reminder(ItemId),
    /// The file of the skill with this name.
    Skill(String),
    /// A webhook's file.
    Webhook(ItemId),
}

impl ListSource {
    /// Returns the position in the union of lists.
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

    /// Returns whether its list also applies to the main conversation. Lists of jobs only apply to
    /// their runs.
    fn is_for_main(&self) -> bool {
        match self {
            Self::Main | Self::Subagent(_) | Self::Skill(_) => true,
            Self::Routine(_) | Self::Reminder(_) | Self::Webhook(_) => false,
        }
    }
}

impl fmt::Display for ListSource {
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

/// A list as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredList {
    pub source: ListSource,
    pub tools: Vec<String>,
}

impl DeclaredList {
    /// Returns the list of the main conversation.
    pub fn main() -> Self {
        Self { source: ListSource::Main, tools: MAIN_TOOLS.map(str::to_owned).to_vec() }
    }
}

/// An issue in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternDiagnostic {
    pub source: ListSource,
    pub pattern: String,
    pub issue: PatternIssue,
    pub effect: LineEffect,
}

/// The effect of a line with an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEffect {
    /// It allows nothing.
    LeftOut,
    Kept,
    /// It forbids its whole tool, because any part may be meant.
    ForbidsTool,
    /// It forbids nothing, because it names no tool.
    ForbidsNothing,
}

impl fmt::Display for PatternDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.pattern.chars().take(MAX_SHOWN_CHARS).collect();
        let cut = if shown.len() < self.pattern.len() { "…" } else { "" };
        let fate = match self.effect {
            LineEffect::LeftOut => "is left out",
            LineEffect::Kept => "is kept",
            LineEffect::ForbidsTool => "forbids all that this tool does",
            LineEffect::ForbidsNothing => "forbids nothing",
        };
        write!(f, "{}: the tool pattern `{}{cut}` {fate}: {}", self.source, shown.escape_debug(), self.issue)
    }
}

/// The valid lines of a list, and its issues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectiveList {
    /// The valid lines.
    pub lines: Vec<String>,
    /// The issues, for the author of the list.
    pub diagnostics: Vec<PatternDiagnostic>,
}

/// Returns the valid lines of the list `tools` of `source`, without lines that have errors.
pub fn effective_list(tools: &[String], source: &ListSource, folders: &Folders) -> EffectiveList {
    let mut left = EffectiveList::default();
    for pattern in tools {
        let findings = validate(pattern, folders);
        if findings.iter().all(|finding| finding.severity() == Severity::Warning) {
            left.lines.push(pattern.trim().to_owned());
        }
        let complaint = |finding: PatternIssue| {
            let fate = match finding.severity() {
                Severity::Error => LineEffect::LeftOut,
                Severity::Warning => LineEffect::Kept,
            };
            PatternDiagnostic {
                source: source.clone(),
                pattern: pattern.clone(),
                issue: finding,
                effect: fate,
            }
        };
        left.diagnostics.extend(findings.into_iter().map(complaint));
    }
    left
}

/// Returns the issues of the exclusion list `tools`.
pub fn forbidden_diagnostics(tools: &[String], source: &ListSource) -> Vec<PatternDiagnostic> {
    let complaints = |pattern: &String| {
        let complaint = |finding: PatternIssue| {
            let fate = match finding {
                PatternIssue::UnknownTool | PatternIssue::Empty => LineEffect::ForbidsNothing,
                PatternIssue::Unreadable | PatternIssue::EmptyBrackets if pattern.trim().starts_with('(') => {
                    LineEffect::ForbidsNothing
                }
                PatternIssue::Unreadable
                | PatternIssue::EmptyBrackets
                | PatternIssue::TooBroad
                | PatternIssue::OverlyBroad
                | PatternIssue::Arguments
                | PatternIssue::Domain
                | PatternIssue::Absolute
                | PatternIssue::Chaining
                | PatternIssue::WritesState => LineEffect::ForbidsTool,
            };
            PatternDiagnostic {
                source: source.clone(),
                pattern: pattern.clone(),
                issue: finding,
                effect: fate,
            }
        };
        validate_forbidden(pattern).into_iter().map(complaint).collect::<Vec<_>>()
    };
    tools.iter().flat_map(complaints).collect()
}

/// Returns the union of all lists without duplicates, in the order of their sources.
pub fn merged_list(declared: &[DeclaredList], folders: &Folders) -> EffectiveList {
    union(declared.iter().collect(), folders)
}

/// Returns the tools of the main conversation, without lists of jobs.
pub fn main_list(declared: &[DeclaredList], folders: &Folders) -> EffectiveList {
    union(declared.iter().filter(|list| list.source.is_for_main()).collect(), folders)
}

fn union(mut declared: Vec<&DeclaredList>, folders: &Folders) -> EffectiveList {
    declared.sort_by_key(|list| list.source.rank());
    let mut together = EffectiveList::default();
    let mut seen = HashSet::new();
    for list in declared {
        let left = effective_list(&list.tools, &list.source, folders);
        together.lines.extend(left.lines.into_iter().filter(|pattern| seen.insert(pattern.clone())));
        together.diagnostics.extend(left.diagnostics);
    }
    together
}

/// Returns the list of a run with the help tool.
pub fn with_help(mut list: Vec<String>) -> Vec<String> {
    if !list.iter().any(|pattern| pattern.trim() == HELP_TOOL) {
        list.insert(0, HELP_TOOL.to_owned());
    }
    list
}
