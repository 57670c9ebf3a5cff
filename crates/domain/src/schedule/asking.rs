//! The tools and skills that a job file requests beyond the base tools. Each takes effect once the
//! user has accepted it.

use super::allowance::LEAST;
use super::{Terms, ToolRule, What};

impl Terms {
    /// The requested tools, one line each, in a canonical spelling.
    pub fn asks(&self) -> Vec<String> {
        match &self.tools {
            ToolRule::Usual | ToolRule::Within(..) => Vec::new(),
            ToolRule::Only(listed) => {
                listed.iter().filter(|tool| is_more(tool)).map(|tool| line(tool)).collect()
            }
            ToolRule::Except(denied) => vec![every_tool_but(denied)],
        }
    }

    /// All tools named in the options, whether requested or forbidden.
    pub fn names(&self) -> Vec<String> {
        let listed = self.tools.allowed().or(self.tools.denied()).unwrap_or_default();
        self.asks().into_iter().chain(listed.iter().map(|tool| line(tool))).collect()
    }

    /// Returns a copy without the `withheld` permissions.
    #[must_use]
    pub fn without(self, held: &[String]) -> Self {
        let tools = match self.tools {
            ToolRule::Only(listed) => {
                ToolRule::Only(listed.into_iter().filter(|tool| !held.contains(&line(tool))).collect())
            }
            ToolRule::Except(denied) if held.contains(&every_tool_but(&denied)) => ToolRule::Usual,
            tools @ (ToolRule::Usual | ToolRule::Except(_) | ToolRule::Within(..)) => tools,
        };
        Self { tools, ..self }
    }
}

impl What {
    /// The requested permissions, one line each.
    pub fn asks(&self) -> Vec<String> {
        let (charter, skills) = match self {
            Self::Routine(routine) => (&routine.charter, &routine.skills),
            Self::Reminder(reminder) => (reminder.charter(), &reminder.skills),
        };
        let tools = charter.terms().map(Terms::asks).unwrap_or_default();
        tools.into_iter().chain(skills.iter().map(|skill| the_skill(skill))).collect()
    }

    /// All permissions named in the file, whether or not they have an effect for its target.
    pub fn names(&self) -> Vec<String> {
        let charter = match self {
            Self::Routine(routine) => &routine.charter,
            Self::Reminder(reminder) => reminder.charter(),
        };
        self.asks().into_iter().chain(charter.written_terms().names()).collect()
    }

    /// Returns a copy without the `withheld` permissions.
    #[must_use]
    pub fn without(self, held: &[String]) -> Self {
        // While a denylist is not accepted, a skill might bring back a denied tool.
        let given = !held.iter().any(|line| line.starts_with(EVERY_TOOL));
        let accepted = |skill: &String| given && !held.contains(&the_skill(skill));
        match self {
            Self::Routine(mut routine) => {
                routine.charter = routine.charter.with_terms(|terms| terms.without(held));
                routine.skills.retain(accepted);
                Self::Routine(routine)
            }
            Self::Reminder(reminder) => {
                let written = reminder.written_lists();
                let mut reminder = reminder.with_terms(|terms| terms.without(held));
                reminder.skills.retain(accepted);
                Self::Reminder(reminder.written_as(written))
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
const EVERY_TOOL: &str = "every tool";

fn is_more(tool: &str) -> bool {
    !LEAST.contains(&tool.trim())
}

fn line(tool: &str) -> String {
    format!("{:?}", tool.trim())
}

fn the_skill(skill: &str) -> String {
    format!("the skill {skill:?}")
}

fn every_tool_but(denied: &[String]) -> String {
    let mut denied: Vec<String> = denied.iter().map(|tool| line(tool)).collect();
    denied.sort();
    match denied.as_slice() {
        [] => EVERY_TOOL.to_owned(),
        denied => format!("{EVERY_TOOL} but {}", denied.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Cron, ItemId, Prompt, Rhythm, Routine};

    fn terms(tools: ToolRule) -> Terms {
        Terms { tools, ..Terms::default() }
    }

    fn list(tools: &[&str]) -> Vec<String> {
        tools.iter().map(|tool| (*tool).to_owned()).collect()
    }

    /// I6: base tools are not requested; others are one line each, independent of order and spaces.
    #[test]
    fn a_file_asks_for_what_is_more_than_the_least() {
        let check = |tools: ToolRule, expected: &[&str]| assert_eq!(terms(tools).asks(), expected);
        check(ToolRule::Usual, &[]);
        check(ToolRule::Only(list(&["mcp__discord__ping_user", " WebFetch "])), &["\"WebFetch\""]);
        check(ToolRule::Except(Vec::new()), &["every tool"]);
        check(ToolRule::Except(list(&["B", "A"])), &["every tool but \"A\", \"B\""]);
        let forged = terms(ToolRule::Except(list(&["A\", \"B"]))).asks();
        assert_ne!(forged, terms(ToolRule::Except(list(&["A", "B"]))).asks());
    }

    /// I6: withheld permissions are removed, and accepted ones remain.
    #[test]
    fn a_job_runs_without_what_is_held_back() {
        let check = |tools: ToolRule, held: &[&str], left: ToolRule| {
            assert_eq!(terms(tools).without(&list(held)).tools, left);
        };
        let both = || ToolRule::Only(list(&["Read", "Bash(git *)"]));
        check(both(), &["\"Bash(git *)\""], ToolRule::Only(list(&["Read"])));
        check(both(), &[], both());
        check(ToolRule::Except(list(&["A"])), &["every tool but \"A\""], ToolRule::Usual);
        check(ToolRule::Except(list(&["A"])), &["every tool"], ToolRule::Except(list(&["A"])));
    }

    #[test]
    fn a_reminder_remembers_the_lists_that_are_held_back() {
        let id = ItemId::parse("c1").unwrap();
        let due = crate::schedule::Moment::parse("2026-11-16T09:00Z", &jiff::tz::TimeZone::UTC).unwrap();
        let charter = crate::schedule::Charter::Fork(terms(ToolRule::Only(list(&["Read", "WebFetch"]))));
        let mut reminder =
            crate::schedule::Reminder::new(id, due, charter, Prompt::new("was it sent?")).unwrap();
        reminder.skills = list(&["tidy"]);
        let written = reminder.written_lists();
        let what = What::Reminder(reminder).without(&list(&["\"WebFetch\"", "the skill \"tidy\""]));
        assert_eq!(what.asks(), ["\"Read\""]);
        let What::Reminder(held) = what else { panic!("a reminder") };
        assert_eq!(held.written_lists(), written);
        let What::Reminder(again) = What::Reminder(held).without(&list(&["\"Read\""])) else {
            panic!("a reminder")
        };
        assert_eq!(again.written_lists(), written);
    }

    /// I6: skills are requested also by a job on main, where tools have no effect and are not
    /// requested.
    #[test]
    fn a_skill_is_asked_for_by_its_name() {
        let id = ItemId::parse("mail").unwrap();
        let cron = Cron::parse("0 9 * * *").unwrap();
        let mut routine = Routine::new(id, Rhythm::new(cron), Prompt::new("Triage."));
        routine.skills = list(&["tidy", "other"]);
        let what = What::Routine(routine);
        assert_eq!(what.asks(), ["the skill \"tidy\"", "the skill \"other\""]);
        assert_eq!(what.clone().without(&list(&["the skill \"tidy\""])).asks(), ["the skill \"other\""]);
        let all = what.without(&list(&["every tool but \"Bash\""]));
        assert_eq!(all.asks(), [""; 0], "a skill may bring what was forbidden");
    }
}
