//! Permission: whether a tool may run.
//!
//! The one door for authority. Every call passes it, and what it decides is written down before the tool
//! runs. A refusal is read by the model, so it says what to do instead.

use crate::place::{Follow, Place, PlacedTool};
use crate::schedule::ToolRule;
use crate::tool::{ToolCall, ToolSpec};

/// What stands before the name of a tool of ours in the lists of job files.
const OWN_SERVER: &str = "mcp__discord__";

/// What was decided about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The call.
    pub call: ToolCall,
    /// The rule that decided.
    pub rule: Rule,
}

impl Decision {
    /// Whether the tool may run, or what the model is told instead.
    pub fn verdict(&self) -> Result<(), String> {
        match &self.rule {
            Rule::OwnTool => Ok(()),
            Rule::Unknown(names) => Err(format!(
                "Error: there is no tool called `{}`. the tools are: {}. use one of those, or answer in words.",
                self.call.name,
                names.join(", ")
            )),
            Rule::OutOfPlace(sentence) => Err((*sentence).to_owned()),
            Rule::Unlisted => Err(format!(
                "Error: `{}` is not available in background forks of this job: its file does not allow it. go on \
                 with the tools it allows.",
                self.call.name
            )),
        }
    }
}

/// Why a call was allowed or refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It only asks the assistant, which checks what it is asked.
    OwnTool,
    /// No such tool exists; these do.
    Unknown(Vec<&'static str>),
    /// It does not work where it was called, for this reason.
    OutOfPlace(&'static str),
    /// The job may not use it.
    Unlisted,
}

impl Rule {
    /// The name under which a decision is kept.
    pub fn id(&self) -> &'static str {
        match self {
            Self::OwnTool => "own-tool",
            Self::Unknown(_) => "unknown-tool",
            Self::OutOfPlace(_) => "out-of-place",
            Self::Unlisted => "unlisted-tool",
        }
    }
}

/// What a run is allowed: where it is, and what its job's file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// Where it runs.
    pub place: Place,
    /// Which tools it may use there.
    pub tools: ToolRule,
}

impl Authority {
    /// That of an ordinary turn in the main conversation.
    pub const MAIN: Self = Self { place: Place::Main(Follow::Alone), tools: ToolRule::Usual };
}

/// Decides whether `call`, of one of `tools`, may run with `authority`.
pub fn decide(call: &ToolCall, tools: &[ToolSpec], authority: &Authority) -> Decision {
    Decision { call: call.clone(), rule: rule(&call.name, tools, authority) }
}

fn rule(name: &str, tools: &[ToolSpec], authority: &Authority) -> Rule {
    if !tools.iter().any(|tool| tool.name == name) {
        return Rule::Unknown(tools.iter().map(|tool| tool.name).collect());
    }
    let admitted = PlacedTool::named(name).map_or(Ok(()), |tool| authority.place.admits(tool));
    match (admitted, &authority.tools) {
        (Err(sentence), _) => Rule::OutOfPlace(sentence),
        (Ok(()), ToolRule::Only(listed)) if !is_on(listed, name) => Rule::Unlisted,
        (Ok(()), ToolRule::Except(listed)) if is_on(listed, name) => Rule::Unlisted,
        (Ok(()), ToolRule::Usual | ToolRule::Only(_) | ToolRule::Except(_)) => Rule::OwnTool,
    }
}

/// Whether a list names a tool of ours. A pattern with something in brackets is about tools that are not ours.
fn is_on(listed: &[String], name: &str) -> bool {
    listed.iter().map(|pattern| pattern.trim()).any(|pattern| {
        let own = pattern.strip_prefix(OWN_SERVER);
        pattern == name || own == Some(name) || own == Some("*")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Json;
    use crate::place::Aside;

    const TOOLS: [&str; 4] = ["inbox_add", "discord_embed", "ping_user", "save_context"];
    const ASIDE: Place = Place::Background(Aside::Forked(Follow::Alone));

    fn decided(name: &str, place: Place, rule: ToolRule) -> Decision {
        let spec = |name| ToolSpec { name, description: "", schema: "{}" };
        let call = ToolCall { id: "a".to_owned(), name: name.to_owned(), input: Json("{}".to_owned()) };
        decide(&call, &TOOLS.map(spec), &Authority { place, tools: rule })
    }

    fn list(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(|pattern| (*pattern).to_owned()).collect()
    }

    /// TL-2, PM-5, TP-1, TP-14, TP-16: the place comes first, then the list of the job.
    #[test]
    fn a_call_is_decided_by_its_place_and_the_list_of_its_job() {
        let check = |name: &str, place: Place, rule: ToolRule, expected: &str| {
            let decision = decided(name, place, rule);
            assert_eq!(decision.rule.id(), expected, "{name} in {place:?}");
            let refused = decision.verdict().err();
            assert_eq!(refused.is_none(), expected == "own-tool");
            assert!(refused.is_none_or(|text| text.starts_with("Error")));
        };
        let main = Place::Main(Follow::Alone);
        check("inbox_add", main, ToolRule::Usual, "own-tool");
        check("rm_rf", main, ToolRule::Usual, "unknown-tool");
        check("ping_user", main, ToolRule::Usual, "out-of-place");
        check("ping_user", ASIDE, ToolRule::Usual, "own-tool");
        let only = || ToolRule::Only(list(&["mcp__discord__ping_user", "Bash(ollim-bot help)", "inbox_add"]));
        check("ping_user", ASIDE, only(), "own-tool");
        check("inbox_add", ASIDE, only(), "own-tool");
        check("discord_embed", ASIDE, only(), "unlisted-tool");
        check("save_context", ASIDE, only(), "out-of-place");
        check("discord_embed", ASIDE, ToolRule::Only(list(&["mcp__discord__*"])), "own-tool");
        check(
            "discord_embed",
            ASIDE,
            ToolRule::Only(list(&["Bash(discord_embed)", "mcp__docs__*"])),
            "unlisted-tool",
        );
        let except = || ToolRule::Except(list(&["mcp__discord__discord_embed"]));
        check("discord_embed", ASIDE, except(), "unlisted-tool");
        check("ping_user", ASIDE, except(), "own-tool");
    }

    /// PM-5: who is refused a tool in the background is told so.
    #[test]
    fn a_refusal_says_what_to_do_instead() {
        let refusal = |name: &str, rule: ToolRule| decided(name, ASIDE, rule).verdict().unwrap_err();
        let unlisted = refusal("ping_user", ToolRule::Only(Vec::new()));
        assert!(unlisted.contains("`ping_user` is not available in background forks"), "{unlisted}");
        let unknown = refusal("rm_rf", ToolRule::Usual);
        assert!(unknown.contains("the tools are: inbox_add, discord_embed"), "{unknown}");
    }
}
