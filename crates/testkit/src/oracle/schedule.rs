//! Rules about scheduled jobs: consistent occurrences, no overlapping runs, and charges that match
//! pings.

use std::collections::{BTreeMap, BTreeSet};

use super::snapshot::{DataSnapshot, Occurrence};

/// The maximum number of tries of a job.
const MAX_TRIES: i64 = 3;
const OPEN_STAGES: [&str; 3] = ["running", "asked", "again"];
const ENDED_STAGES: [&str; 5] = ["done", "failed", "missed", "skipped", "cancelled"];

/// An occurrence has a known stage, was not tried too often, and has a reason if it failed or was
/// missed.
pub fn occurrences_are_consistent(snapshot: &DataSnapshot) -> Vec<String> {
    let mut violations = Vec::new();
    for occurrence in &snapshot.background.schedule.occurrences {
        let name = occurrence.name();
        let stage = occurrence.stage.as_str();
        if !OPEN_STAGES.contains(&stage) && !ENDED_STAGES.contains(&stage) && stage != "queued" {
            violations.push(format!("{name} stands at {stage}"));
        }
        if occurrence.tries > MAX_TRIES {
            violations.push(format!("{name} was tried {} times", occurrence.tries));
        }
        if ENDED_STAGES[1..].contains(&stage) && occurrence.reason.is_empty() {
            violations.push(format!("{name} is {stage} and does not say why"));
        }
        if stage == "missed" && (occurrence.last < Some(occurrence.due) || occurrence.count < Some(1)) {
            violations
                .push(format!("{name} was missed {:?} times up to {:?}", occurrence.count, occurrence.last));
        }
    }
    violations
}

/// Occurrences of a job do not overlap: a range of missed times contains no other occurrence.
pub fn occurrences_do_not_overlap(snapshot: &DataSnapshot) -> Vec<String> {
    let mut ends: BTreeMap<&str, &Occurrence> = BTreeMap::new();
    let mut violations = Vec::new();
    // The rows are sorted by job and time.
    for occurrence in &snapshot.background.schedule.occurrences {
        if let Some(before) = ends.insert(&occurrence.source, occurrence)
            && before.last.unwrap_or(before.due) >= occurrence.due
        {
            violations.push(format!(
                "{} is accounted for twice, by {} too",
                occurrence.name(),
                before.name()
            ));
        }
    }
    violations
}

/// At most one occurrence of a job is open and one is queued, and the run of a running one exists.
pub fn jobs_run_one_at_a_time(snapshot: &DataSnapshot) -> Vec<String> {
    let mut violations = Vec::new();
    let mut open = BTreeSet::new();
    let mut queued = BTreeSet::new();
    for occurrence in &snapshot.background.schedule.occurrences {
        let twice = match occurrence.stage.as_str() {
            // Deliveries to a webhook are queued one after another, or until the next day.
            "queued" if occurrence.source.starts_with("webhook:") => false,
            "queued" => !queued.insert(&occurrence.source),
            stage if OPEN_STAGES.contains(&stage) => !open.insert(&occurrence.source),
            _ => false,
        };
        if twice {
            violations.push(format!(
                "{} is {} beside another time of it",
                occurrence.name(),
                occurrence.stage
            ));
        }
        let branch = occurrence.branch.as_deref().unwrap_or_default();
        if occurrence.stage == "running" && !snapshot.background.runs.iter().any(|run| run == branch) {
            violations.push(format!("{} is being done on {branch}, where nothing runs", occurrence.name()));
        }
    }
    violations.extend(queued.difference(&open).map(|source| format!("{source} waits for nobody")));
    violations
}

/// No run of a job began before the previous one had ended.
pub fn runs_of_a_job_do_not_overlap(snapshot: &DataSnapshot) -> Vec<String> {
    let jobs: BTreeMap<&str, &str> = snapshot
        .background
        .schedule
        .program_messages
        .iter()
        .filter_map(|(branch, text)| Some((branch.as_str(), job_tag(text)?)))
        .collect();
    let mut running: BTreeMap<&str, &str> = BTreeMap::new();
    let mut violations = Vec::new();
    for moved in &snapshot.moves {
        let Some(job) = jobs.get(moved.branch.as_str()) else { continue };
        if moved.to.is_none() {
            running.retain(|_, branch| *branch != moved.branch);
        } else if let Some(other) = running.insert(job, &moved.branch)
            && other != moved.branch
        {
            violations.push(format!("{job} began on {} while it was being done on {other}", moved.branch));
        }
    }
    violations
}

/// Shown entries were charged exactly once; a run pings at most once normally and once as critical.
pub fn charges_match_sent_entries(snapshot: &DataSnapshot) -> Vec<String> {
    let schedule = &snapshot.background.schedule;
    let charged: BTreeSet<i64> = schedule.charges.iter().map(|charge| charge.entry).collect();
    let sent: BTreeSet<i64> = snapshot.background.sent.iter().copied().collect();
    let unshown = charged.difference(&sent).map(|entry| format!("{entry} was charged and not shown"));
    let uncharged = sent.difference(&charged).map(|entry| format!("{entry} was shown and not charged"));
    let mut violations: Vec<String> = unshown.chain(uncharged).collect();
    let mut pings: BTreeMap<(&str, bool), u32> = BTreeMap::new();
    for charge in &schedule.charges {
        let before = charge.before;
        let after = charge.after;
        if !(0.0..=schedule.capacity).contains(&before) || !(0.0..=before).contains(&after) {
            violations.push(format!("{} was charged from {before} to {after}", charge.entry));
        }
        *pings.entry((&charge.branch, after < before)).or_default() += 1;
    }
    let repeated = pings.iter().filter(|(_, count)| **count > 1);
    violations
        .extend(repeated.map(|((branch, _), count)| format!("{branch} pinged {count} times in one way")));
    if !(0.0..=schedule.capacity).contains(&schedule.available) {
        violations.push(format!("{} of {} pings are left", schedule.available, schedule.capacity));
    }
    violations
}

/// Returns the tag of the job that a message starts, such as `[routine-bg:mail] ...`.
fn job_tag(text: &str) -> Option<&str> {
    let tag = text.strip_prefix('[')?.split_once(']')?.0;
    (tag.starts_with("routine-bg:") || tag.starts_with("reminder-bg:")).then_some(tag)
}
