//! The preamble of a background run: the conditions of the run, before its prompt.
//!
//! It consists of sections, each only if it applies to the run. A run whose reports are blocked
//! never reads the name of the report tool.

mod budget;

use jiff::Zoned;

use crate::attention::PingLimits;
use crate::conversation::Json;
use crate::run::{RunMode, UserActivity};
use crate::schedule::{
    PingPermission, ReportMode, ReportPolicy, ToolRule, UpcomingFire, has_only_base_tools,
};
use crate::tool::ToolCall;
use crate::tool::pattern::{MAIN_TOOLS, allows_nothing, forbidden_text, forbids};

/// The conditions of a background run.
#[derive(Clone, Debug)]
pub struct Preamble {
    pub session: RunMode,
    pub report_policy: ReportPolicy,
    /// The activity of the user.
    pub busy: UserActivity,
    pub limits: PingLimits,
    /// True if the first message contains text from outside.
    pub tainted: bool,
    /// Other jobs that run around now.
    pub upcoming: Vec<UpcomingFire>,
    /// The effective tool rule.
    pub tools: ToolRule,
}

impl Preamble {
    /// PR-1: Returns all sections that apply, in order, with a blank line after each.
    pub fn render(&self, now: &Zoned) -> String {
        let sections = [
            self.session().map(str::to_owned),
            Some(self.ping().to_owned()),
            Some(self.update()),
            self.busy().map(str::to_owned),
            budget::section(self, now),
            self.tools(),
            self.proxy().map(str::to_owned),
        ];
        sections.into_iter().flatten().map(|section| section + "\n\n").collect()
    }

    /// PR-2: The section about a persistent session.
    fn session(&self) -> Option<&'static str> {
        match self.session {
            RunMode::Persistent => Some(
                "SESSION: Persistent. This session is yours alone and carries over from one fire to the next: what you \
                 learned in earlier runs stands above, unless this is its first run, and what you learn now will stand \
                 there next time. When it has grown large, call `compact_session` and say what to keep and what to drop.",
            ),
            RunMode::Forked | RunMode::Isolated => None,
        }
    }

    /// PR-3, PR-4: The section about pings.
    fn ping(&self) -> &'static str {
        match self.report_policy.pings {
            PingPermission::Allowed => {
                "Nobody reads along: your text output is discarded. To reach the human, call `ping_user` for a plain \
                 alert or `discord_embed` for structured data."
            }
            PingPermission::Never => {
                "Nobody reads along: your text output is discarded. Pinging is disabled for this run: `ping_user` and \
                 `discord_embed` are not available."
            }
        }
    }

    /// PR-5 to PR-9, PR-13: The section about reports to the main session.
    fn update(&self) -> String {
        let rule = match (self.report_policy.reporting, self.report_policy.pings) {
            (ReportMode::Always, _) => {
                "You MUST call `report_updates` before you finish, with a short summary of what you found or did."
            }
            (ReportMode::OnPing, _) => {
                "You may call `report_updates` to leave it a short summary, and you MUST call it if you sent a ping or \
                 an embed. If nothing useful happened, call nothing."
            }
            (ReportMode::Freely, _) => {
                "You may optionally leave it a short summary with `report_updates`. If you pinged, report that too."
            }
            (ReportMode::Blocked, PingPermission::Allowed) => {
                return "No summary of this run goes to the main conversation. You can still ping the human directly about \
                        something time-sensitive."
                    .to_owned();
            }
            (ReportMode::Blocked, PingPermission::Never) => {
                return "This task runs silently: nothing of it goes to the main conversation or to the human.".to_owned();
            }
        };
        format!("{} {rule}", self.seen_by_main())
    }

    fn seen_by_main(&self) -> &'static str {
        match self.session {
            RunMode::Forked => {
                "You run on a forked session: by default everything in it is discarded, and the main conversation never \
                 hears of it."
            }
            RunMode::Isolated => {
                "You run on a fresh session beside the main one: by default everything in it is discarded, and the main \
                 conversation never hears of it."
            }
            RunMode::Persistent => {
                "The main conversation does not see this run: the text you write in it is discarded, though you keep it \
                 in your own session."
            }
        }
    }

    /// PR-10: The section about a busy user.
    fn busy(&self) -> Option<&'static str> {
        match (self.busy, self.report_policy.pings, self.report_policy.reporting) {
            (UserActivity::Idle, _, _) | (_, PingPermission::Never, _) => None,
            (UserActivity::Talking, PingPermission::Allowed, ReportMode::Blocked) => Some(
                "The human is mid-conversation. Do not ping now, unless it is so grave that it calls for `critical=True`.",
            ),
            (UserActivity::Talking, PingPermission::Allowed, _) => Some(
                "The human is mid-conversation. Do not ping now, unless it is so grave that it calls for `critical=True`; \
                 leave what you find with `report_updates`.",
            ),
        }
    }

    /// PR-14: The section about tool restrictions, with exactly the rules that are checked at a
    /// call.
    fn tools(&self) -> Option<String> {
        // PR-8: The name of the tool would only tempt the model to report.
        let named = |tool: &String| {
            self.report_policy.reporting != ReportMode::Blocked || !tool.contains("report_updates")
        };
        let list = |tools: Vec<String>| -> String {
            tools.into_iter().filter(named).map(|tool| format!("\n  - {tool}")).collect()
        };
        match &self.tools {
            ToolRule::SameAsMain | ToolRule::Intersection(..) => None,
            ToolRule::Only(tools) => {
                let allowing = tools.iter().filter(|tool| !allows_nothing(tool)).cloned().collect();
                let head = if has_only_base_tools(tools) {
                    "TOOLS: the file of this task lists none, so these are available:"
                } else {
                    "TOOL RESTRICTIONS: only these tools are available:"
                };
                Some(format!("{head}{}", list(allowing)))
            }
            ToolRule::Except(tools) => {
                let forbidden: Vec<String> = tools.iter().filter_map(|tool| forbidden_text(tool)).collect();
                let forbidden = match list(forbidden) {
                    none if none.is_empty() => String::new(),
                    some => format!(" these tools are not available:{some}\nOf the others,"),
                };
                let others = list(self.usual_tools(tools));
                Some(format!("TOOL RESTRICTIONS:{forbidden} only these tools are available:{others}"))
            }
        }
    }

    /// Returns the tools of a run whose file only excludes some.
    fn usual_tools(&self, forbidden: &[String]) -> Vec<String> {
        let is_unavailable = |tool: &str| match tool {
            "mcp__discord__save_context" | "mcp__discord__enter_fork" | "mcp__discord__exit_fork" => true,
            "mcp__discord__compact_session" => self.session != RunMode::Persistent,
            _ => false,
        };
        let is_forbidden = |tool: &str| {
            let name = tool.split('(').next().unwrap_or(tool);
            let name = name.strip_prefix("mcp__discord__").unwrap_or(name);
            let call = ToolCall { id: String::new(), name: name.to_owned(), input: Json("{}".to_owned()) };
            forbidden.iter().any(|line| line.trim() == tool || forbids(line, &call, None))
        };
        let tools = MAIN_TOOLS.into_iter().chain(["inbox_list", "status"]);
        tools.filter(|tool| !is_unavailable(tool) && !is_forbidden(tool)).map(str::to_owned).collect()
    }

    /// PR-15: The section about the agent that knows the user's preferences.
    fn proxy(&self) -> Option<&'static str> {
        let names_task = |tools: &[String]| tools.iter().any(|tool| tool == "Task");
        let has_task = match &self.tools {
            ToolRule::SameAsMain => true,
            ToolRule::Intersection(..) => false,
            ToolRule::Only(tools) => names_task(tools),
            ToolRule::Except(tools) => !names_task(tools),
        };
        has_task.then_some(
            "When a decision turns on what the human would prefer, spawn the `user-proxy` subagent with `Task` and ask it \
             before you choose.",
        )
    }
}

#[cfg(test)]
mod tests;
