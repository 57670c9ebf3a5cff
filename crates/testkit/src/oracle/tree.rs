//! Rules about the entry tree: it is consistent, and every call was decided and answered once.

use std::collections::BTreeMap;

use super::snapshot::{DataSnapshot, Entry};

/// The result of a call whose request for approval could not be stored.
const NOT_RUN: &str = "this was not run.";

/// Ids increase along every path, and the depth is the number of steps.
pub fn parents_exist_and_have_smaller_ids(snapshot: &DataSnapshot) -> Vec<String> {
    let mut violations = Vec::new();
    for (id, entry) in &snapshot.entries {
        let expected = match entry.parent.map(|parent| (parent, snapshot.entries.get(&parent))) {
            None => 1,
            Some((parent, Some(above))) if parent < *id => above.depth + 1,
            Some((parent, _)) => {
                violations.push(format!("entry {id} follows {parent}, which is not there before it"));
                continue;
            }
        };
        if entry.depth != expected {
            violations.push(format!("entry {id} has depth {} and not {expected}", entry.depth));
        }
        if entry.body.is_null() {
            violations.push(format!("entry {id} has a body that is no JSON"));
        }
    }
    violations
}

/// A head points to an existing entry.
pub fn heads_point_to_entries(snapshot: &DataSnapshot) -> Vec<String> {
    let lost =
        snapshot.heads.iter().filter(|head| head.entry.is_some_and(|id| !snapshot.entries.contains_key(&id)));
    lost.map(|head| format!("{} points to {:?}, which is not there", head.branch, head.entry)).collect()
}

/// An entry with calls is followed by exactly their results; results occur nowhere else.
pub fn calls_are_answered(snapshot: &DataSnapshot) -> Vec<String> {
    let mut violations = Vec::new();
    for (id, entry) in &snapshot.entries {
        let above = entry.parent.and_then(|parent| snapshot.entries.get(&parent));
        let calls = above.map(Entry::calls).unwrap_or_default();
        let results = answered_calls(entry);
        if sorted(calls.clone()) != sorted(results.clone()) {
            violations.push(format!("entry {id} answers {results:?} after calls of {calls:?}"));
        }
        if entry.kind == "tools" && results.is_empty() {
            violations.push(format!("entry {id} holds no results"));
        }
    }
    for id in snapshot.leaves().filter(|id| !snapshot.entries[id].calls().is_empty()) {
        let open = snapshot.turns.iter().filter(|turn| turn.closed.is_none());
        let heads = open.filter_map(|turn| snapshot.heads.iter().find(|head| head.branch == turn.branch));
        if !heads.into_iter().any(|head| head.entry == Some(id)) {
            violations.push(format!("entry {id} calls tools, no turn goes on there, and nobody answered"));
        }
    }
    violations
}

/// A call has one decision, not later than its result, and a decision has a call.
pub fn calls_are_decided_once(snapshot: &DataSnapshot) -> Vec<String> {
    let mut violations = Vec::new();
    let mut decided: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for decision in &snapshot.call_decisions.decisions {
        decided.entry(&decision.call).or_default().push(decision.at);
    }
    let mut called = BTreeMap::<String, usize>::new();
    let results_by_call = results_by_call(snapshot);
    // A webhook delivery pings directly, without a model whose call could be refused.
    for call in snapshot.entries.values().flat_map(Entry::calls).filter(|call| !call.starts_with("delivery-"))
    {
        *called.entry(call).or_default() += 1;
    }
    for (call, count) in &called {
        let results = results_by_call.get(call.as_str()).map(Vec::as_slice).unwrap_or_default();
        let refused = results.iter().any(|(_, text)| *text == NOT_RUN);
        match decided.get(call.as_str()).map(Vec::as_slice) {
            // A model may use a call id twice, on two paths of the tree.
            Some(times @ [at, ..]) if times.len() == *count => {
                let early = results.iter().filter(|(results_by_call, _)| results_by_call < at);
                violations.extend(early.map(|_| format!("call {call} was answered before it was decided")));
            }
            Some(times) => violations.push(format!("call {call} was decided {} times", times.len())),
            None if refused => {}
            None => violations.push(format!("call {call} was never decided")),
        }
    }
    let uncalled = decided.keys().filter(|call| !called.contains_key(**call));
    violations.extend(uncalled.map(|call| format!("a decision about {call}, which nobody called")));
    violations
}

/// Returns the results of each call with their times.
fn results_by_call(snapshot: &DataSnapshot) -> BTreeMap<&str, Vec<(i64, &str)>> {
    let mut results: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for entry in snapshot.entries.values() {
        for result in entry.results() {
            let call = result["call"].as_str();
            let text = result["text"].as_str();
            results.entry(call.unwrap_or_default()).or_default().push((entry.at, text.unwrap_or_default()));
        }
    }
    results
}

fn answered_calls(entry: &Entry) -> Vec<String> {
    let results = entry.results();
    results.iter().map(|result| result["call"].as_str().unwrap_or_default().to_owned()).collect()
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}
