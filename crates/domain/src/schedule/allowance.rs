//! The tools that a background run may use, derived from its file.

use super::{PingPermission, ReportMode, ReportPolicy, RunOptions, ToolRule};
use crate::run::RunMode;
use crate::tool::pattern::{HELP_TOOL, MAIN_TOOLS};

const PING_TOOLS: [&str; 2] = ["mcp__discord__ping_user", "mcp__discord__discord_embed"];
const REPORT_TOOLS: [&str; 2] = ["mcp__discord__report_updates", "mcp__discord__follow_up_chain"];
const COMPACT_TOOL: &str = "mcp__discord__compact_session";

/// TP-14: the tools of every run.
pub(super) const BASE_TOOLS: [&str; 5] = [
    "mcp__discord__report_updates",
    "mcp__discord__ping_user",
    "mcp__discord__discord_embed",
    "mcp__discord__follow_up_chain",
    HELP_TOOL,
];

/// BF-2, BF-3, BF-7, RP-20: the tools of a run of this kind. Tools forbidden by the report policy
/// are included; calls to them are refused with a reason.
pub fn allowed_tools(terms: &RunOptions, kind: RunMode) -> ToolRule {
    match &terms.tools {
        ToolRule::SameAsMain => ToolRule::Only(with_base_tools(&[], kind)),
        ToolRule::Only(declared) => ToolRule::Only(with_base_tools(declared, kind)),
        ToolRule::Except(denied) => ToolRule::Except(denied.clone()),
        ToolRule::Intersection(..) => terms.tools.clone(),
    }
}

/// Returns whether `tools` contains only tools that every run has.
pub fn has_only_base_tools(tools: &[String]) -> bool {
    tools.iter().all(|tool| BASE_TOOLS.contains(&tool.as_str()) || tool == COMPACT_TOOL)
}

/// BF-5, BF-6: removes the tools that the report policy forbids, for the list shown to the run.
pub fn advertised_tools(tools: &ToolRule, voice: ReportPolicy) -> ToolRule {
    let mut forbidden = Vec::new();
    if voice.pings == PingPermission::Never {
        forbidden.extend(PING_TOOLS);
    }
    if voice.reporting == ReportMode::Blocked {
        forbidden.extend(REPORT_TOOLS);
    }
    match tools {
        ToolRule::SameAsMain => ToolRule::SameAsMain,
        ToolRule::Intersection(_, inner) => advertised_tools(inner, voice),
        ToolRule::Only(list) => {
            ToolRule::Only(list.iter().filter(|tool| !forbidden.contains(&tool.as_str())).cloned().collect())
        }
        ToolRule::Except(denied) => {
            let usual =
                forbidden.iter().filter(|tool| MAIN_TOOLS.contains(tool)).map(|tool| (*tool).to_owned());
            ToolRule::Except(denied.iter().cloned().chain(usual).collect())
        }
    }
}

fn with_base_tools(declared: &[String], kind: RunMode) -> Vec<String> {
    let mut list: Vec<String> = BASE_TOOLS.map(str::to_owned).to_vec();
    let own = (kind == RunMode::Persistent).then(|| COMPACT_TOOL.to_owned());
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

    fn list(terms: &RunOptions, kind: RunMode) -> Vec<String> {
        allowed_tools(terms, kind).allowed().unwrap_or_default().to_vec()
    }

    /// BF-2, TP-14, RP-20: a run has the base tools, those declared in its file, and
    /// `compact_session` if it is persistent.
    #[test]
    fn a_run_has_base_and_declared_tools() {
        let plain = RunOptions::default();
        assert_eq!(list(&plain, RunMode::Forked), BASE_TOOLS);
        let declared = ["WebFetch", " mcp__discord__ping_user ", "WebFetch"].map(str::to_owned).to_vec();
        let terms = RunOptions { tools: ToolRule::Only(declared), ..RunOptions::default() };
        assert_eq!(list(&terms, RunMode::Isolated)[BASE_TOOLS.len()..], ["WebFetch"]);
        assert_eq!(list(&terms, RunMode::Persistent)[BASE_TOOLS.len()..], ["WebFetch", COMPACT_TOOL]);
    }

    /// BF-7: base tools come first, then declared ones. Tools forbidden by the report policy are
    /// removed, and a persistent run keeps `compact_session`.
    #[test]
    fn forbidden_tools_are_removed_from_declared_ones() {
        let declared = ["WebFetch", "mcp__discord__ping_user"].map(str::to_owned).to_vec();
        let terms = RunOptions { tools: ToolRule::Only(declared), ..RunOptions::default() };
        let quiet = ReportPolicy { reporting: ReportMode::Blocked, pings: PingPermission::Never };
        let told = advertised_tools(&allowed_tools(&terms, RunMode::Persistent), quiet);
        assert_eq!(told.allowed().unwrap_or_default(), [HELP_TOOL, "WebFetch", COMPACT_TOOL]);
    }

    /// BF-3, BF-5, BF-6: a denylist leaves all other tools, and forbidden tools are not advertised.
    #[test]
    fn forbidden_tools_are_not_advertised() {
        let quiet = ReportPolicy { reporting: ReportMode::Blocked, pings: PingPermission::Never };
        let told = advertised_tools(&allowed_tools(&RunOptions::default(), RunMode::Forked), quiet);
        assert_eq!(told.allowed().unwrap_or_default(), [HELP_TOOL]);
        let terms =
            RunOptions { tools: ToolRule::Except(vec!["WebFetch".to_owned()]), ..RunOptions::default() };
        let denied = advertised_tools(&allowed_tools(&terms, RunMode::Forked), quiet);
        let denied = denied.denied().unwrap_or_default();
        assert!(denied[0] == "WebFetch" && denied.len() == 5, "{denied:?}");
        let plain = advertised_tools(&allowed_tools(&terms, RunMode::Forked), ReportPolicy::default());
        assert_eq!(plain.denied().unwrap_or_default(), ["WebFetch"]);
    }
}
