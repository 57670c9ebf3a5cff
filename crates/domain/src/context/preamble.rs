//! The preamble of a background run: what holds for it, before it reads what it is told to do.
//!
//! It is made of sections, and each is there only if it says something that is true of this run. A run whose
//! reports are blocked never reads the name of the tool that it does not have.

mod budget;

use jiff::Zoned;

use crate::attention::PingLimits;
use crate::conversation::Json;
use crate::run::{Busy, Kind};
use crate::schedule::{Pings, Reporting, ToolRule, Upcoming, Voice, declares_nothing};
use crate::tool::ToolCall;
use crate::tool::pattern::{MAIN, allows_nothing, forbidden_as_told, forbids};

/// What holds for a background run.
#[derive(Clone, Debug)]
pub struct Preamble {
    /// What it stands on.
    pub session: Kind,
    /// How it may reach the human.
    pub voice: Voice,
    /// Whether the human talks with us right now.
    pub busy: Busy,
    /// The limits on its pings.
    pub limits: PingLimits,
    /// Text from outside is in what it reads first.
    pub outside: bool,
    /// What else fires around now.
    pub ahead: Vec<Upcoming>,
    /// Which tools it may use, after everything that adds to them or takes from them.
    pub tools: ToolRule,
}

impl Preamble {
    /// PR-1: all sections that apply, in order, with a blank line after each.
    pub fn write(&self, now: &Zoned) -> String {
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

    /// PR-2: a session of its own.
    fn session(&self) -> Option<&'static str> {
        match self.session {
            Kind::Persistent => Some(
                "SESSION: Persistent. This session is yours alone and carries over from one fire to the next: what you \
                 learned in earlier runs stands above, unless this is its first run, and what you learn now will stand \
                 there next time. When it has grown large, call `compact_session` and say what to keep and what to drop.",
            ),
            Kind::Forked | Kind::Isolated => None,
        }
    }

    /// PR-3, PR-4: whether it may interrupt.
    fn ping(&self) -> &'static str {
        match self.voice.pings {
            Pings::Allowed => {
                "Nobody reads along: your text output is discarded. To reach the human, call `ping_user` for a plain \
                 alert or `discord_embed` for structured data."
            }
            Pings::Never => {
                "Nobody reads along: your text output is discarded. Pinging is disabled for this run: `ping_user` and \
                 `discord_embed` are not available."
            }
        }
    }

    /// PR-5 to PR-9, PR-13: what main hears of it.
    fn update(&self) -> String {
        let rule = match (self.voice.reporting, self.voice.pings) {
            (Reporting::Always, _) => {
                "You MUST call `report_updates` before you finish, with a short summary of what you found or did."
            }
            (Reporting::OnPing, _) => {
                "You may call `report_updates` to leave it a short summary, and you MUST call it if you sent a ping or \
                 an embed. If nothing useful happened, call nothing."
            }
            (Reporting::Freely, _) => {
                "You may optionally leave it a short summary with `report_updates`. If you pinged, report that too."
            }
            (Reporting::Blocked, Pings::Allowed) => {
                return "No summary of this run goes to the main conversation. You can still ping the human directly about \
                        something time-sensitive."
                    .to_owned();
            }
            (Reporting::Blocked, Pings::Never) => {
                return "This task runs silently: nothing of it goes to the main conversation or to the human.".to_owned();
            }
        };
        format!("{} {rule}", self.seen_by_main())
    }

    fn seen_by_main(&self) -> &'static str {
        match self.session {
            Kind::Forked => {
                "You run on a forked session: by default everything in it is discarded, and the main conversation never \
                 hears of it."
            }
            Kind::Isolated => {
                "You run on a fresh session beside the main one: by default everything in it is discarded, and the main \
                 conversation never hears of it."
            }
            Kind::Persistent => {
                "The main conversation does not see this run: the text you write in it is discarded, though you keep it \
                 in your own session."
            }
        }
    }

    /// PR-10: the human is in the middle of something.
    fn busy(&self) -> Option<&'static str> {
        match (self.busy, self.voice.pings, self.voice.reporting) {
            (Busy::No, _, _) | (_, Pings::Never, _) => None,
            (Busy::Talking, Pings::Allowed, Reporting::Blocked) => Some(
                "The human is mid-conversation. Do not ping now, unless it is so grave that it calls for `critical=True`.",
            ),
            (Busy::Talking, Pings::Allowed, _) => Some(
                "The human is mid-conversation. Do not ping now, unless it is so grave that it calls for `critical=True`; \
                 leave what you find with `report_updates`.",
            ),
        }
    }

    /// PR-14: the tools it is limited to: exactly the lines that hold when a call is decided.
    fn tools(&self) -> Option<String> {
        // PR-8: the name of the tool would only tempt it to report.
        let named =
            |tool: &String| self.voice.reporting != Reporting::Blocked || !tool.contains("report_updates");
        let list = |tools: Vec<String>| -> String {
            tools.into_iter().filter(named).map(|tool| format!("\n  - {tool}")).collect()
        };
        match &self.tools {
            ToolRule::Usual | ToolRule::Within(..) => None,
            ToolRule::Only(tools) => {
                let allowing = tools.iter().filter(|tool| !allows_nothing(tool)).cloned().collect();
                let head = if declares_nothing(tools) {
                    "TOOLS: the file of this task lists none, so these are available:"
                } else {
                    "TOOL RESTRICTIONS: only these tools are available:"
                };
                Some(format!("{head}{}", list(allowing)))
            }
            ToolRule::Except(tools) => {
                let forbidden: Vec<String> =
                    tools.iter().filter_map(|tool| forbidden_as_told(tool)).collect();
                let forbidden = match list(forbidden) {
                    none if none.is_empty() => String::new(),
                    some => format!(" these tools are not available:{some}\nOf the others,"),
                };
                let others = list(self.usual_tools(tools));
                Some(format!("TOOL RESTRICTIONS:{forbidden} only these tools are available:{others}"))
            }
        }
    }

    /// The tools of a run whose file only says what it must do without.
    fn usual_tools(&self, forbidden: &[String]) -> Vec<String> {
        let is_elsewhere = |tool: &str| match tool {
            "mcp__discord__save_context" | "mcp__discord__enter_fork" | "mcp__discord__exit_fork" => true,
            "mcp__discord__compact_session" => self.session != Kind::Persistent,
            _ => false,
        };
        let is_forbidden = |tool: &str| {
            let name = tool.split('(').next().unwrap_or(tool);
            let name = name.strip_prefix("mcp__discord__").unwrap_or(name);
            let call = ToolCall { id: String::new(), name: name.to_owned(), input: Json("{}".to_owned()) };
            forbidden.iter().any(|line| line.trim() == tool || forbids(line, &call, None))
        };
        let tools = MAIN.into_iter().chain(["inbox_list", "status"]);
        tools.filter(|tool| !is_elsewhere(tool) && !is_forbidden(tool)).map(str::to_owned).collect()
    }

    /// PR-15: whom to ask about what the human would like.
    fn proxy(&self) -> Option<&'static str> {
        let names_task = |tools: &[String]| tools.iter().any(|tool| tool == "Task");
        let has_task = match &self.tools {
            ToolRule::Usual => true,
            ToolRule::Within(..) => false,
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
