//! Writes the frontmatter keys that routines, reminders and webhooks share.

use domain::effort::Effort;
use domain::schedule::{
    Charter, IfMissed, Knowing, Manner, ModelName, Overlap, Pings, Reporting, Rest, Standing, Terms,
    ToolRule, Voice,
};

use crate::frontmatter::{Head, Value};

/// Writes the keys of a job. Defaults are left out.
pub(super) trait JobHead {
    fn background(self, charter: &Charter) -> Self;
    fn model_and_thinking(self, terms: &Terms) -> Self;
    fn isolated(self, knowing: Knowing) -> Self;
    fn reporting(self, reporting: Reporting) -> Self;
    fn pings(self, pings: Pings) -> Self;
    fn voice(self, voice: Voice) -> Self;
    fn tools(self, tools: &ToolRule) -> Self;
    fn skills(self, skills: &[String]) -> Self;
    fn manner(self, manner: &Manner) -> Self;
}

impl JobHead for Head {
    fn background(self, charter: &Charter) -> Self {
        let flag = match charter.standing() {
            Standing::Foreground => None,
            Standing::Background => Some(Value::Flag(true)),
        };
        self.with("background", flag)
    }

    fn model_and_thinking(self, terms: &Terms) -> Self {
        self.text("model", terms.model.as_ref().map_or("", ModelName::as_str), "")
            .with("thinking", terms.thinking.key().map(Value::Flag))
            .text("effort", terms.effort.map_or("", Effort::as_str), "")
    }

    fn isolated(self, knowing: Knowing) -> Self {
        let flag = match knowing {
            Knowing::Main => None,
            Knowing::Itself => Some(Value::Flag(true)),
        };
        self.with("isolated", flag)
    }

    fn reporting(self, reporting: Reporting) -> Self {
        self.text("update-main-session", reporting.as_str(), Reporting::default().as_str())
    }

    fn pings(self, pings: Pings) -> Self {
        let flag = match pings {
            Pings::Allowed => None,
            Pings::Never => Some(Value::Flag(false)),
        };
        self.with("allow-ping", flag)
    }

    fn voice(self, voice: Voice) -> Self {
        self.reporting(voice.reporting).pings(voice.pings)
    }

    fn tools(self, tools: &ToolRule) -> Self {
        let list = |tools: Option<&[String]>| tools.map(|tools| Value::List(tools.to_vec()));
        self.with("allowed-tools", list(tools.allowed())).with("disallowed-tools", list(tools.denied()))
    }

    fn skills(self, skills: &[String]) -> Self {
        self.with("skills", (!skills.is_empty()).then(|| Value::List(skills.to_vec())))
    }

    fn manner(self, manner: &Manner) -> Self {
        let if_missed = manner.if_missed.as_ref().map(IfMissed::to_string);
        self.with("if-missed", if_missed.map(Value::Text))
            .text("overlap", manner.overlap.as_str(), Overlap::default().as_str())
            .with("paused", paused(manner.rest))
    }
}

/// The value of `paused`; `None` if the job is not paused.
fn paused(rest: Rest) -> Option<Value> {
    match rest {
        Rest::Never => None,
        Rest::Until(moment) => Some(Value::Text(moment.to_string())),
        Rest::ForNow => Some(Value::Flag(true)),
    }
}
