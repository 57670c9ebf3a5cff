//! Writes the frontmatter keys that routines, reminders and webhooks share.

use domain::effort::Effort;
use domain::schedule::{
    FiringPolicy, InitialContext, JobTarget, MissedPolicy, ModelName, OverlapPolicy, PauseState,
    PingPermission, Placement, ReportMode, ReportPolicy, RunOptions, ToolRule,
};

use crate::frontmatter::{FrontmatterBuilder, Value};

/// Writes the keys of a job. Defaults are left out.
pub(super) trait WriteJobKeys {
    fn background(self, charter: &JobTarget) -> Self;
    fn model_and_thinking(self, terms: &RunOptions) -> Self;
    fn isolated(self, knowing: InitialContext) -> Self;
    fn reporting(self, reporting: ReportMode) -> Self;
    fn pings(self, pings: PingPermission) -> Self;
    fn report_policy(self, voice: ReportPolicy) -> Self;
    fn tools(self, tools: &ToolRule) -> Self;
    fn skills(self, skills: &[String]) -> Self;
    fn missed_policy(self, manner: &FiringPolicy) -> Self;
}

impl WriteJobKeys for FrontmatterBuilder {
    fn background(self, charter: &JobTarget) -> Self {
        let flag = match charter.placement() {
            Placement::Foreground => None,
            Placement::Background => Some(Value::Flag(true)),
        };
        self.with("background", flag)
    }

    fn model_and_thinking(self, terms: &RunOptions) -> Self {
        self.text("model", terms.model.as_ref().map_or("", ModelName::as_str), "")
            .with("thinking", terms.thinking.key().map(Value::Flag))
            .text("effort", terms.effort.map_or("", Effort::as_str), "")
    }

    fn isolated(self, knowing: InitialContext) -> Self {
        let flag = match knowing {
            InitialContext::Main => None,
            InitialContext::PromptOnly => Some(Value::Flag(true)),
        };
        self.with("isolated", flag)
    }

    fn reporting(self, reporting: ReportMode) -> Self {
        self.text("update-main-session", reporting.as_str(), ReportMode::default().as_str())
    }

    fn pings(self, pings: PingPermission) -> Self {
        let flag = match pings {
            PingPermission::Allowed => None,
            PingPermission::Never => Some(Value::Flag(false)),
        };
        self.with("allow-ping", flag)
    }

    fn report_policy(self, voice: ReportPolicy) -> Self {
        self.reporting(voice.reporting).pings(voice.pings)
    }

    fn tools(self, tools: &ToolRule) -> Self {
        let list = |tools: Option<&[String]>| tools.map(|tools| Value::List(tools.to_vec()));
        self.with("allowed-tools", list(tools.allowed())).with("disallowed-tools", list(tools.denied()))
    }

    fn skills(self, skills: &[String]) -> Self {
        self.with("skills", (!skills.is_empty()).then(|| Value::List(skills.to_vec())))
    }

    fn missed_policy(self, manner: &FiringPolicy) -> Self {
        let if_missed = manner.if_missed.as_ref().map(MissedPolicy::to_string);
        self.with("if-missed", if_missed.map(Value::Text))
            .text("overlap", manner.overlap.as_str(), OverlapPolicy::default().as_str())
            .with("paused", paused(manner.pause))
    }
}

/// The value of `paused`; `None` if the job is not paused.
fn paused(rest: PauseState) -> Option<Value> {
    match rest {
        PauseState::Active => None,
        PauseState::Until(moment) => Some(Value::Text(moment.to_string())),
        PauseState::Indefinite => Some(Value::Flag(true)),
    }
}
