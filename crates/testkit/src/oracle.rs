//! The oracle: reads a data directory independently and reports broken promises.
//!
//! It shares no code with the crates that write the directory, so that each can catch mistakes of
//! the other. It reads a copy of the database, and requires that the program is not running.

mod approvals;
mod files;
mod messages;
mod observations;
mod runs;
mod schedule;
mod snapshot;
mod tree;
mod updates;

use std::path::Path;

pub use observations::Observations;
use snapshot::DataSnapshot;

/// A rule: returns a description of every violation.
type OracleRule = fn(&DataSnapshot) -> Vec<String>;

const RULES: [OracleRule; 25] = [
    tree::parents_exist_and_have_smaller_ids,
    tree::heads_point_to_entries,
    tree::calls_are_answered,
    tree::calls_are_decided_once,
    approvals::approvals_are_answered_once,
    approvals::executed_calls_were_allowed,
    approvals::grants_are_used_once,
    messages::messages_are_delivered_once,
    messages::messages_keep_their_order,
    messages::turns_are_consistent,
    updates::updates_are_read_once,
    updates::updates_file_matches_pending_updates,
    updates::open_fork_has_a_branch,
    runs::active_runs_have_a_branch_and_turn,
    runs::sent_entries_exist,
    runs::origins_file_is_complete,
    schedule::occurrences_are_consistent,
    schedule::occurrences_do_not_overlap,
    schedule::jobs_run_one_at_a_time,
    schedule::runs_of_a_job_do_not_overlap,
    schedule::charges_match_sent_entries,
    files::sessions_file_names_main,
    files::session_history_is_complete,
    files::no_temporary_files_remain,
    files::files_are_private,
];

/// Returns all violations in the data directory `root`, whose program is not running.
pub fn find_violations(root: &Path) -> Vec<String> {
    match DataSnapshot::read(root) {
        Ok(snapshot) => RULES.iter().flat_map(|rule| rule(&snapshot)).collect(),
        Err(error) => vec![format!("the directory cannot be read: {error:#}")],
    }
}

#[cfg(test)]
mod tests;
