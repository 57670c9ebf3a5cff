//! Rules about approvals: each is answered once, only allowed calls ran, and a grant is used once.

use std::collections::BTreeMap;

use serde_json::Value;

use super::seen::{Approval, Decision, Seen};

/// Rules under which a call may run.
const ALLOWING: [&str; 7] = ["own-tool", "reads", "context", "mode", "standing", "approved", "granted"];
/// The result texts of calls that did not run, or whose outcome is unknown.
const UNRUN: [&str; 2] = ["this was not run.", "the program was stopped while this ran"];

/// The decision about a call with an approval matches the answer. There is none before the answer
/// or before the turn continued without one.
pub fn approvals_are_answered_once(seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    for approval in &seen.ruled.approvals {
        let decided = decisions(seen, &approval.call).filter(|decision| decision.turn == approval.turn);
        let rules: Vec<&str> = decided.map(|decision| decision.rule.as_str()).collect();
        let expected: &[&str] = match (approval.late, approval.how.as_deref()) {
            (true, _) => &["unanswered"],
            (false, None) => &[],
            (false, Some("allowed" | "always allowed")) => &["approved"],
            (false, Some("denied")) => &["denied"],
            (false, Some(_)) => &["cancelled"],
        };
        if rules != expected {
            let id = approval.id;
            let how = &approval.how;
            wrong.push(format!("approval {id} was closed with {how:?} and its call was decided {rules:?}"));
        }
    }
    let asked = |decision: &&Decision| matches!(decision.rule.as_str(), "approved" | "denied" | "unanswered");
    for decision in seen.ruled.decisions.iter().filter(asked) {
        let same = |approval: &&Approval| approval.call == decision.call && approval.turn == decision.turn;
        let count = seen.ruled.approvals.iter().filter(same).count();
        if count != 1 {
            wrong.push(format!("call {} is {} after {count} approvals", decision.call, decision.rule));
        }
    }
    wrong
}

/// A call with a real result was decided by a rule that allows it.
pub fn what_ran_was_allowed(seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    for result in seen.entries.values().flat_map(|entry| entry.results()) {
        let call = word(result, "call");
        let text = word(result, "text");
        let ran = result["failed"] != true && !UNRUN.iter().any(|unrun| text.starts_with(unrun));
        let allowed = decisions(seen, &call).any(|decision| ALLOWING.contains(&decision.rule.as_str()));
        if ran && !allowed && decisions(seen, &call).next().is_some() {
            wrong.push(format!("call {call} ran and was never allowed"));
        }
    }
    wrong
}

/// A grant allows one call, with the same tool and the same input.
pub fn grants_are_used_once(seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut used: BTreeMap<&str, u32> = BTreeMap::new();
    for approval in &seen.ruled.approvals {
        let Some(call) = &approval.used else { continue };
        *used.entry(call).or_default() += 1;
        if !is_grant(approval) {
            wrong.push(format!("approval {} let call {call} through and is no grant", approval.id));
        }
        let exactly = |decision: &Decision| {
            decision.tool == approval.tool && json(&decision.input) == json(&approval.input)
        };
        if !decisions(seen, call).any(exactly) {
            wrong.push(format!("approval {} let call {call} through, which is another one", approval.id));
        }
    }
    for decision in seen.ruled.decisions.iter().filter(|decision| decision.rule == "granted") {
        let count = used.get(decision.call.as_str()).copied().unwrap_or_default();
        if count != 1 {
            wrong.push(format!("call {} was granted by {count} approvals", decision.call));
        }
    }
    wrong
}

fn is_grant(approval: &Approval) -> bool {
    approval.late && matches!(approval.how.as_deref(), Some("allowed" | "always allowed"))
}

fn decisions<'a>(seen: &'a Seen, call: &'a str) -> impl Iterator<Item = &'a Decision> {
    seen.ruled.decisions.iter().filter(move |decision| decision.call == call)
}

fn word(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}
