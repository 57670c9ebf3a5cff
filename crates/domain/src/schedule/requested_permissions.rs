//! The tools and skills that a job file requests beyond the base tools. Each takes effect once the
//! user has accepted it.

use super::allowance::BASE_TOOLS;
use super::{JobSpec, RunOptions, ToolRule};

impl RunOptions {
    /// The requested tools, one line each, in a canonical spelling.
    pub fn requested_tools(&self) -> Vec<String> {
        match &self.tools {
            ToolRule::SameAsMain | ToolRule::Intersection(..) => Vec::new(),
            ToolRule::Only(listed) => {
                listed.iter().filter(|tool| is_extra(tool)).map(|tool| tool_line(tool)).collect()
            }
            ToolRule::Except(denied) => vec![every_tool_line(denied)],
        }
    }

    /// All tools named in the options, whether requested or forbidden.
    pub fn named_tools(&self) -> Vec<String> {
        let listed = self.tools.allowed().or(self.tools.denied()).unwrap_or_default();
        self.requested_tools().into_iter().chain(listed.iter().map(|tool| tool_line(tool))).collect()
    }

    /// Returns a copy without the `withheld` permissions.
    #[must_use]
    pub fn without(self, withheld: &[String]) -> Self {
        let tools = match self.tools {
            ToolRule::Only(listed) => ToolRule::Only(
                listed.into_iter().filter(|tool| !withheld.contains(&tool_line(tool))).collect(),
            ),
            ToolRule::Except(denied) if withheld.contains(&every_tool_line(&denied)) => ToolRule::SameAsMain,
            tools @ (ToolRule::SameAsMain | ToolRule::Except(_) | ToolRule::Intersection(..)) => tools,
        };
        Self { tools, ..self }
    }
}

impl JobSpec {
    /// The requested permissions, one line each.
    pub fn requested_permissions(&self) -> Vec<String> {
        let (charter, skills) = match self {
            Self::Routine(routine) => (&routine.target, &routine.skills),
            Self::Reminder(reminder) => (reminder.target(), &reminder.skills),
        };
        let tools = charter.options().map(RunOptions::requested_tools).unwrap_or_default();
        tools.into_iter().chain(skills.iter().map(|skill| skill_line(skill))).collect()
    }

    /// All permissions named in the file, whether or not they have an effect for its target.
    pub fn named_permissions(&self) -> Vec<String> {
        let charter = match self {
            Self::Routine(routine) => &routine.target,
            Self::Reminder(reminder) => reminder.target(),
        };
        self.requested_permissions().into_iter().chain(charter.written_options().named_tools()).collect()
    }

    /// Returns a copy without the `withheld` permissions.
    #[must_use]
    pub fn without(self, withheld: &[String]) -> Self {
        // While a denylist is not accepted, a skill might bring back a denied tool.
        let given = !withheld.iter().any(|line| line.starts_with(EVERY_TOOL_PREFIX));
        let accepted = |skill: &String| given && !withheld.contains(&skill_line(skill));
        match self {
            Self::Routine(mut routine) => {
                routine.target = routine.target.with_options(|terms| terms.without(withheld));
                routine.skills.retain(accepted);
                Self::Routine(routine)
            }
            Self::Reminder(reminder) => {
                let written = reminder.written_lists();
                let mut reminder = reminder.with_options(|terms| terms.without(withheld));
                reminder.skills.retain(accepted);
                Self::Reminder(reminder.with_written_lists(written))
            }
        }
    }

    /// The id of the first job of the chain, whose tools a follow-up uses; `None` for the first job
    /// itself.
    pub fn first_of_chain(&self) -> Option<&str> {
        match self {
            Self::Routine(_) => None,
            Self::Reminder(reminder) => {
                reminder.chain.parent.as_deref().filter(|first| *first != reminder.id.as_str())
            }
        }
    }
}

/// The prefix of the line that requests all tools except a few.
const EVERY_TOOL_PREFIX: &str = "every tool";

fn is_extra(tool: &str) -> bool {
    !BASE_TOOLS.contains(&tool.trim())
}

fn tool_line(tool: &str) -> String {
    format!("{:?}", tool.trim())
}

fn skill_line(skill: &str) -> String {
    format!("the skill {skill:?}")
}

fn every_tool_line(denied: &[String]) -> String {
    let mut denied: Vec<String> = denied.iter().map(|tool| tool_line(tool)).collect();
    denied.sort();
    match denied.as_slice() {
        [] => EVERY_TOOL_PREFIX.to_owned(),
        denied => format!("{EVERY_TOOL_PREFIX} but {}", denied.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Cron, ItemId, Prompt, Recurrence, Routine};

    fn terms(tools: ToolRule) -> RunOptions {
        RunOptions { tools, ..RunOptions::default() }
    }

    fn list(tools: &[&str]) -> Vec<String> {
        tools.iter().map(|tool| (*tool).to_owned()).collect()
    }

    /// I6: base tools are not requested; others are one line each, independent of order and spaces.
    #[test]
    fn a_file_requests_tools_beyond_the_base_tools() {
        let check = |tools: ToolRule, expected: &[&str]| assert_eq!(terms(tools).requested_tools(), expected);
        check(ToolRule::SameAsMain, &[]);
        check(ToolRule::Only(list(&["mcp__discord__ping_user", " WebFetch "])), &["\"WebFetch\""]);
        check(ToolRule::Except(Vec::new()), &["every tool"]);
        check(ToolRule::Except(list(&["B", "A"])), &["every tool but \"A\", \"B\""]);
        let forged = terms(ToolRule::Except(list(&["A\", \"B"]))).requested_tools();
        assert_ne!(forged, terms(ToolRule::Except(list(&["A", "B"]))).requested_tools());
    }

    /// I6: withheld permissions are removed, and accepted ones remain.
    #[test]
    fn a_job_runs_without_withheld_tools() {
        let check = |tools: ToolRule, held: &[&str], left: ToolRule| {
            assert_eq!(terms(tools).without(&list(held)).tools, left);
        };
        let both = || ToolRule::Only(list(&["Read", "Bash(git *)"]));
        check(both(), &["\"Bash(git *)\""], ToolRule::Only(list(&["Read"])));
        check(both(), &[], both());
        check(ToolRule::Except(list(&["A"])), &["every tool but \"A\""], ToolRule::SameAsMain);
        check(ToolRule::Except(list(&["A"])), &["every tool"], ToolRule::Except(list(&["A"])));
    }

    #[test]
    fn a_reminder_keeps_the_written_lists_of_withheld_permissions() {
        let id = ItemId::parse("c1").unwrap();
        let due = crate::schedule::Moment::parse("2026-11-16T09:00Z", &jiff::tz::TimeZone::UTC).unwrap();
        let charter = crate::schedule::JobTarget::Fork(terms(ToolRule::Only(list(&["Read", "WebFetch"]))));
        let mut reminder =
            crate::schedule::Reminder::new(id, due, charter, Prompt::new("was it sent?")).unwrap();
        reminder.skills = list(&["tidy"]);
        let written = reminder.written_lists();
        let what = JobSpec::Reminder(reminder).without(&list(&["\"WebFetch\"", "the skill \"tidy\""]));
        assert_eq!(what.requested_permissions(), ["\"Read\""]);
        let JobSpec::Reminder(held) = what else { panic!("a reminder") };
        assert_eq!(held.written_lists(), written);
        let JobSpec::Reminder(again) = JobSpec::Reminder(held).without(&list(&["\"Read\""])) else {
            panic!("a reminder")
        };
        assert_eq!(again.written_lists(), written);
    }

    /// I6: skills are requested also by a job on main, where tools have no effect and are not
    /// requested.
    #[test]
    fn skills_are_requested_by_name() {
        let id = ItemId::parse("mail").unwrap();
        let cron = Cron::parse("0 9 * * *").unwrap();
        let mut routine = Routine::new(id, Recurrence::new(cron), Prompt::new("Triage."));
        routine.skills = list(&["tidy", "other"]);
        let what = JobSpec::Routine(routine);
        assert_eq!(what.requested_permissions(), ["the skill \"tidy\"", "the skill \"other\""]);
        assert_eq!(
            what.clone().without(&list(&["the skill \"tidy\""])).requested_permissions(),
            ["the skill \"other\""]
        );
        let all = what.without(&list(&["every tool but \"Bash\""]));
        assert_eq!(all.requested_permissions(), [""; 0], "a skill may bring what was forbidden");
    }
}
