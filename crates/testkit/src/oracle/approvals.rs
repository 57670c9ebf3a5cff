//! Rules about approvals: each is answered once, only allowed calls ran, and a grant is used once.

use std::collections::BTreeMap;

use serde_json::Value;

use super::snapshot::{Approval, DataSnapshot, Decision};

/// Rules under which a call may run.
const ALLOWING_RULES: [&str; 7] = ["own-tool", "reads", "context", "mode", "standing", "approved", "granted"];
/// The result texts of calls that did not run, or whose outcome is unknown.
const NOT_RUN_TEXTS: [&str; 2] = ["this was not run.", "the program was stopped while this ran"];

/// The decision about a call with an approval matches the answer. There is none before the answer
/// or before the turn continued without one.
pub fn approvals_are_answered_once(snapshot: &DataSnapshot) -> Vec<String> {
    let mut violations = Vec::new();
    for approval in &snapshot.call_decisions.approvals {
        let decided = decisions(snapshot, &approval.call).filter(|decision| decision.turn == approval.turn);
        let rules: Vec<&str> = decided.map(|decision| decision.rule.as_str()).collect();
        let expected: &[&str] = match (approval.late, approval.outcome.as_deref()) {
            (true, _) => &["unanswered"],
            (false, None) => &[],
            (false, Some("allowed" | "always allowed")) => &["approved"],
            (false, Some("denied")) => &["denied"],
            (false, Some(_)) => &["cancelled"],
        };
        if rules != expected {
            let id = approval.id;
            let how = &approval.outcome;
            violations
                .push(format!("approval {id} was closed with {how:?} and its call was decided {rules:?}"));
        }
    }
    let was_asked =
        |decision: &&Decision| matches!(decision.rule.as_str(), "approved" | "denied" | "unanswered");
    for decision in snapshot.call_decisions.decisions.iter().filter(was_asked) {
        let same = |approval: &&Approval| approval.call == decision.call && approval.turn == decision.turn;
        let count = snapshot.call_decisions.approvals.iter().filter(same).count();
        if count != 1 {
            violations.push(format!("call {} is {} after {count} approvals", decision.call, decision.rule));
        }
    }
    violations
}

/// A call with a real result was decided by a rule that allows it.
pub fn executed_calls_were_allowed(snapshot: &DataSnapshot) -> Vec<String> {
    let mut violations = Vec::new();
    for result in snapshot.entries.values().flat_map(|entry| entry.results()) {
        let call = text_field(result, "call");
        let text = text_field(result, "text");
        let ran = result["failed"] != true && !NOT_RUN_TEXTS.iter().any(|unrun| text.starts_with(unrun));
        let allowed =
            decisions(snapshot, &call).any(|decision| ALLOWING_RULES.contains(&decision.rule.as_str()));
        if ran && !allowed && decisions(snapshot, &call).next().is_some() {
            violations.push(format!("call {call} ran and was never allowed"));
        }
    }
    violations
}

/// A grant allows one call, with the same tool and the same input.
pub fn grants_are_used_once(snapshot: &DataSnapshot) -> Vec<String> {
    let mut violations = Vec::new();
    let mut used: BTreeMap<&str, u32> = BTreeMap::new();
    for approval in &snapshot.call_decisions.approvals {
        let Some(call) = &approval.used_by else { continue };
        *used.entry(call).or_default() += 1;
        if !is_grant(approval) {
            violations.push(format!("approval {} let call {call} through and is no grant", approval.id));
        }
        let exactly = |decision: &Decision| {
            decision.tool == approval.tool && parse_json(&decision.input) == parse_json(&approval.input)
        };
        if !decisions(snapshot, call).any(exactly) {
            violations
                .push(format!("approval {} let call {call} through, which is another one", approval.id));
        }
    }
    for decision in snapshot.call_decisions.decisions.iter().filter(|decision| decision.rule == "granted") {
        let count = used.get(decision.call.as_str()).copied().unwrap_or_default();
        if count != 1 {
            violations.push(format!("call {} was granted by {count} approvals", decision.call));
        }
    }
    violations
}

fn is_grant(approval: &Approval) -> bool {
    approval.late && matches!(approval.outcome.as_deref(), Some("allowed" | "always allowed"))
}

fn decisions<'a>(snapshot: &'a DataSnapshot, call: &'a str) -> impl Iterator<Item = &'a Decision> {
    snapshot.call_decisions.decisions.iter().filter(move |decision| decision.call == call)
}

fn text_field(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

fn parse_json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}
