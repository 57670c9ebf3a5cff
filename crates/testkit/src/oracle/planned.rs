//! Rules about scheduled jobs: consistent occurrences, no overlapping runs, and charges that match
//! pings.

use std::collections::{BTreeMap, BTreeSet};

use super::seen::{Seen, Time};

/// The maximum number of tries of a job.
const TRIES: i64 = 3;
const OPEN: [&str; 3] = ["running", "asked", "again"];
const ENDED: [&str; 5] = ["done", "failed", "missed", "skipped", "cancelled"];

/// An occurrence has a known stage, was not tried too often, and has a reason if it failed or was
/// missed.
pub fn times_are_whole(seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    for time in &seen.beside.planned.times {
        let name = time.name();
        let stage = time.stage.as_str();
        if !OPEN.contains(&stage) && !ENDED.contains(&stage) && stage != "queued" {
            wrong.push(format!("{name} stands at {stage}"));
        }
        if time.tries > TRIES {
            wrong.push(format!("{name} was tried {} times", time.tries));
        }
        if ENDED[1..].contains(&stage) && time.why.is_empty() {
            wrong.push(format!("{name} is {stage} and does not say why"));
        }
        if stage == "missed" && (time.last < Some(time.due) || time.count < Some(1)) {
            wrong.push(format!("{name} was missed {:?} times up to {:?}", time.count, time.last));
        }
    }
    wrong
}

/// Occurrences of a job do not overlap: a range of missed times contains no other occurrence.
pub fn times_are_kept_once(seen: &Seen) -> Vec<String> {
    let mut ends: BTreeMap<&str, &Time> = BTreeMap::new();
    let mut wrong = Vec::new();
    // The rows are sorted by job and time.
    for time in &seen.beside.planned.times {
        if let Some(before) = ends.insert(&time.source, time)
            && before.last.unwrap_or(before.due) >= time.due
        {
            wrong.push(format!("{} is accounted for twice, by {} too", time.name(), before.name()));
        }
    }
    wrong
}

/// At most one occurrence of a job is open and one is queued, and the run of a running one exists.
pub fn jobs_are_done_one_at_a_time(seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut open = BTreeSet::new();
    let mut queued = BTreeSet::new();
    for time in &seen.beside.planned.times {
        let twice = match time.stage.as_str() {
            // Deliveries to a webhook are queued one after another, or until the next day.
            "queued" if time.source.starts_with("webhook:") => false,
            "queued" => !queued.insert(&time.source),
            stage if OPEN.contains(&stage) => !open.insert(&time.source),
            _ => false,
        };
        if twice {
            wrong.push(format!("{} is {} beside another time of it", time.name(), time.stage));
        }
        let branch = time.branch.as_deref().unwrap_or_default();
        if time.stage == "running" && !seen.beside.runs.iter().any(|run| run == branch) {
            wrong.push(format!("{} is being done on {branch}, where nothing runs", time.name()));
        }
    }
    wrong.extend(queued.difference(&open).map(|source| format!("{source} waits for nobody")));
    wrong
}

/// No run of a job began before the previous one had ended.
pub fn runs_of_a_job_follow_each_other(seen: &Seen) -> Vec<String> {
    let jobs: BTreeMap<&str, &str> = seen
        .beside
        .planned
        .told
        .iter()
        .filter_map(|(branch, words)| Some((branch.as_str(), job(words)?)))
        .collect();
    let mut running: BTreeMap<&str, &str> = BTreeMap::new();
    let mut wrong = Vec::new();
    for moved in &seen.moves {
        let Some(job) = jobs.get(moved.branch.as_str()) else { continue };
        if moved.to.is_none() {
            running.retain(|_, branch| *branch != moved.branch);
        } else if let Some(other) = running.insert(job, &moved.branch)
            && other != moved.branch
        {
            wrong.push(format!("{job} began on {} while it was being done on {other}", moved.branch));
        }
    }
    wrong
}

/// Shown entries were charged exactly once; a run pings at most once normally and once as critical.
pub fn what_was_charged_was_shown(seen: &Seen) -> Vec<String> {
    let planned = &seen.beside.planned;
    let charged: BTreeSet<i64> = planned.charges.iter().map(|charge| charge.entry).collect();
    let sent: BTreeSet<i64> = seen.beside.sent.iter().copied().collect();
    let unshown = charged.difference(&sent).map(|entry| format!("{entry} was charged and not shown"));
    let uncharged = sent.difference(&charged).map(|entry| format!("{entry} was shown and not charged"));
    let mut wrong: Vec<String> = unshown.chain(uncharged).collect();
    let mut pings: BTreeMap<(&str, bool), u32> = BTreeMap::new();
    for charge in &planned.charges {
        let before = charge.before;
        let after = charge.after;
        if !(0.0..=planned.capacity).contains(&before) || !(0.0..=before).contains(&after) {
            wrong.push(format!("{} was charged from {before} to {after}", charge.entry));
        }
        *pings.entry((&charge.branch, after < before)).or_default() += 1;
    }
    let often = pings.iter().filter(|(_, count)| **count > 1);
    wrong.extend(often.map(|((branch, _), count)| format!("{branch} pinged {count} times in one way")));
    if !(0.0..=planned.capacity).contains(&planned.available) {
        wrong.push(format!("{} of {} pings are left", planned.available, planned.capacity));
    }
    wrong
}

/// Returns the tag of the job that a message starts, such as `[routine-bg:mail] ...`.
fn job(words: &str) -> Option<&str> {
    let tag = words.strip_prefix('[')?.split_once(']')?.0;
    (tag.starts_with("routine-bg:") || tag.starts_with("reminder-bg:")).then_some(tag)
}
