//! The tools that a background run may use, derived from its file.

use super::{Pings, Reporting, Terms, ToolRule, Voice};
use crate::run::Kind;
use crate::tool::pattern::{HELP, MAIN};

const PINGS: [&str; 2] = ["mcp__discord__ping_user", "mcp__discord__discord_embed"];
const REPORTS: [&str; 2] = ["mcp__discord__report_updates", "mcp__discord__follow_up_chain"];
const COMPACT: &str = "mcp__discord__compact_session";

/// TP-14: the tools of every run.
pub(super) const LEAST: [&str; 5] = [
    "mcp__discord__report_updates",
    "mcp__discord__ping_user",
    "mcp__discord__discord_embed",
    "mcp__discord__follow_up_chain",
    HELP,
];

/// BF-2, BF-3, BF-7, RP-20: the tools of a run of this kind. Tools forbidden by the report policy
/// are included; calls to them are refused with a reason.
pub fn allowance(terms: &Terms, kind: Kind) -> ToolRule {
    match &terms.tools {
        ToolRule::Usual => ToolRule::Only(least(&[], kind)),
        ToolRule::Only(declared) => ToolRule::Only(least(declared, kind)),
        ToolRule::Except(denied) => ToolRule::Except(denied.clone()),
        ToolRule::Within(..) => terms.tools.clone(),
    }
}

/// Returns whether `tools` contains only tools that every run has.
pub fn declares_nothing(tools: &[String]) -> bool {
    tools.iter().all(|tool| LEAST.contains(&tool.as_str()) || tool == COMPACT)
}

/// BF-5, BF-6: removes the tools that the report policy forbids, for the list shown to the run.
pub fn as_told(tools: &ToolRule, voice: Voice) -> ToolRule {
    let mut forbidden = Vec::new();
    if voice.pings == Pings::Never {
        forbidden.extend(PINGS);
    }
    if voice.reporting == Reporting::Blocked {
        forbidden.extend(REPORTS);
    }
    match tools {
        ToolRule::Usual => ToolRule::Usual,
        ToolRule::Within(_, inner) => as_told(inner, voice),
        ToolRule::Only(list) => {
            ToolRule::Only(list.iter().filter(|tool| !forbidden.contains(&tool.as_str())).cloned().collect())
        }
        ToolRule::Except(denied) => {
            let usual = forbidden.iter().filter(|tool| MAIN.contains(tool)).map(|tool| (*tool).to_owned());
            ToolRule::Except(denied.iter().cloned().chain(usual).collect())
        }
    }
}

fn least(declared: &[String], kind: Kind) -> Vec<String> {
    let mut list: Vec<String> = LEAST.map(str::to_owned).to_vec();
    let own = (kind == Kind::Persistent).then(|| COMPACT.to_owned());
    for tool in declared.iter().map(|tool| tool.trim().to_owned()).chain(own) {
        if !list.contains(&tool) {
            list.push(tool);
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(terms: &Terms, kind: Kind) -> Vec<String> {
        allowance(terms, kind).allowed().unwrap_or_default().to_vec()
    }

    /// BF-2, TP-14, RP-20: a run has the base tools, those declared in its file, and
    /// `compact_session` if it is persistent.
    #[test]
    fn a_run_has_the_least_and_what_its_file_adds() {
        let plain = Terms::default();
        assert_eq!(list(&plain, Kind::Forked), LEAST);
        let declared = ["WebFetch", " mcp__discord__ping_user ", "WebFetch"].map(str::to_owned).to_vec();
        let terms = Terms { tools: ToolRule::Only(declared), ..Terms::default() };
        assert_eq!(list(&terms, Kind::Isolated)[LEAST.len()..], ["WebFetch"]);
        assert_eq!(list(&terms, Kind::Persistent)[LEAST.len()..], ["WebFetch", COMPACT]);
    }

    /// BF-7: base tools come first, then declared ones. Tools forbidden by the report policy are
    /// removed, and a persistent run keeps `compact_session`.
    #[test]
    fn what_is_forbidden_is_taken_from_what_was_added() {
        let declared = ["WebFetch", "mcp__discord__ping_user"].map(str::to_owned).to_vec();
        let terms = Terms { tools: ToolRule::Only(declared), ..Terms::default() };
        let quiet = Voice { reporting: Reporting::Blocked, pings: Pings::Never };
        let told = as_told(&allowance(&terms, Kind::Persistent), quiet);
        assert_eq!(told.allowed().unwrap_or_default(), [HELP, "WebFetch", COMPACT]);
    }

    /// BF-3, BF-5, BF-6: a denylist leaves all other tools, and forbidden tools are not advertised.
    #[test]
    fn a_run_is_not_told_of_tools_that_its_voice_forbids() {
        let quiet = Voice { reporting: Reporting::Blocked, pings: Pings::Never };
        let told = as_told(&allowance(&Terms::default(), Kind::Forked), quiet);
        assert_eq!(told.allowed().unwrap_or_default(), [HELP]);
        let terms = Terms { tools: ToolRule::Except(vec!["WebFetch".to_owned()]), ..Terms::default() };
        let denied = as_told(&allowance(&terms, Kind::Forked), quiet);
        let denied = denied.denied().unwrap_or_default();
        assert!(denied[0] == "WebFetch" && denied.len() == 5, "{denied:?}");
        let plain = as_told(&allowance(&terms, Kind::Forked), Voice::default());
        assert_eq!(plain.denied().unwrap_or_default(), ["WebFetch"]);
    }
}
