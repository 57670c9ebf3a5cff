//! The oracle: reads a data directory independently and reports broken promises.
//!
//! It shares no code with the crates that write the directory, so that each can catch mistakes of
//! the other. It reads a copy of the database, and requires that the program is not running.

mod approvals;
mod aside;
mod files;
mod ledger;
mod people;
mod planned;
mod runs;
mod seen;
mod tree;

use std::path::Path;

pub use ledger::Ledger;
use seen::Seen;

/// A rule: returns a description of every violation.
type Rule = fn(&Seen) -> Vec<String>;

const RULES: [Rule; 25] = [
    tree::parents_are_there_and_smaller,
    tree::heads_point_to_entries,
    tree::calls_are_answered,
    tree::calls_are_decided_once,
    approvals::approvals_are_answered_once,
    approvals::what_ran_was_allowed,
    approvals::grants_are_used_once,
    people::messages_are_said_once,
    people::messages_keep_their_order,
    people::turns_are_whole,
    aside::reports_are_read_once,
    aside::the_file_tells_what_waits,
    aside::the_fork_is_there,
    runs::runs_go_on_somewhere,
    runs::what_was_sent_is_there,
    runs::the_file_knows_the_runs,
    planned::times_are_whole,
    planned::times_are_kept_once,
    planned::jobs_are_done_one_at_a_time,
    planned::runs_of_a_job_follow_each_other,
    planned::what_was_charged_was_shown,
    files::main_is_who_the_file_says,
    files::the_history_is_whole,
    files::nothing_is_left_over,
    files::only_the_owner_reads,
];

/// Returns all violations in the data directory `root`, whose program is not running.
pub fn examine(root: &Path) -> Vec<String> {
    match Seen::read(root) {
        Ok(seen) => RULES.iter().flat_map(|rule| rule(&seen)).collect(),
        Err(error) => vec![format!("the directory cannot be read: {error:#}")],
    }
}

#[cfg(test)]
mod tests;
