//! The stories of the engine, each run with every model that supports it.
//!
//! One list names the models of each story. The reason for a missing model follows `but for`.

mod approvals;
mod compaction;
mod conversation;
mod faults;
mod fork_exits;
mod forks;
mod idle_forks;
mod outages;
mod outside_text;
mod retries;
mod undo;
mod update_delivery;
mod updates;

use testkit::story::Story;
use testkit::wire_models::WireModel;

const MORNING: &str = "2026-11-15T08:00[Europe/Madrid]";

/// The model that a story runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// A scripted model.
    Scripted,
    /// The client of the Messages API, with a fake server.
    Anthropic,
    /// The client of chat completions, with a fake server.
    OpenAi,
    /// The real Claude Code program, with a fake server.
    Claude,
}

/// Starts a story in the morning.
fn story(model: ModelKind) -> Story {
    match model {
        ModelKind::Scripted => Story::new(MORNING),
        ModelKind::Anthropic => Story::with_wire_model(MORNING, WireModel::anthropic()),
        ModelKind::OpenAi => Story::with_wire_model(MORNING, WireModel::openai()),
        ModelKind::Claude => Story::with_wire_model(MORNING, WireModel::claude()),
    }
}

macro_rules! told_by {
    ($story:path, puppet) => {
        #[test]
        fn puppet() {
            $story($crate::ModelKind::Scripted);
        }
    };
    ($story:path, anthropic) => {
        #[test]
        fn anthropic() {
            $story($crate::ModelKind::Anthropic);
        }
    };
    ($story:path, openai) => {
        #[test]
        fn openai() {
            $story($crate::ModelKind::OpenAi);
        }
    };
    ($story:path, claude) => {
        #[test]
        #[ignore = "needs the claude program: `cargo xtask test` installs it"]
        fn claude() {
            $story($crate::ModelKind::Claude);
        }
    };
}

macro_rules! stories {
    ($($room:ident::$story:ident: $($teller:ident)+ $(, but for $missing:ident: $why:literal)*;)+) => {
        $(mod $story {
            $(told_by!(crate::$room::$story, $teller);)+
        })+
    };
}

stories! {
    conversation::message_is_answered_and_the_next_one_continues: puppet anthropic openai claude;
    conversation::model_reads_the_time_of_every_message: puppet anthropic openai claude;
    conversation::tool_runs_between_two_replies: puppet anthropic openai claude;
    conversation::invalid_call_gets_an_actionable_error: puppet anthropic openai claude;
    conversation::call_of_an_unknown_tool_lists_the_known_ones: puppet anthropic openai,
        but for claude: "the program answers such a call by itself, and we never hear of it";
    conversation::new_message_interrupts_and_the_tree_stays_in_order: puppet anthropic openai claude;
    conversation::queued_messages_are_answered_in_order: puppet anthropic openai claude;
    conversation::user_can_stop_an_answer_if_there_is_one: puppet anthropic openai claude;
    conversation::invalid_message_is_refused_without_a_model_call: puppet anthropic openai claude;
    conversation::failure_of_the_model_is_explained_and_the_next_message_works: puppet anthropic openai claude;
    conversation::answer_at_the_output_limit_is_cut: puppet anthropic openai,
        but for claude: "the program asks its model three times to go on before it gives up";
    conversation::notice_states_the_requested_wait: puppet anthropic openai,
        but for claude: "the program does not tell how long its vendor wants to be left alone";
    conversation::endless_tool_calls_are_stopped: puppet anthropic openai claude;
    conversation::reply_with_too_many_calls_runs_those_within_the_limit: puppet anthropic openai,
        but for claude: "the limit is held before any client is asked";
    conversation::crash_during_an_answer_loses_nothing: puppet anthropic openai claude;
    conversation::queued_message_survives_a_crash: puppet anthropic openai claude;
    conversation::new_message_after_a_crash_waits_for_the_pending_answer: puppet anthropic openai claude;
    conversation::turn_that_crashes_the_program_is_given_up: puppet anthropic openai claude;
    conversation::session_graph_shows_a_fork_and_a_compaction: puppet anthropic openai claude;
    approvals::call_waits_for_an_approval: puppet anthropic openai claude;
    approvals::new_message_does_not_wait_for_an_approval: puppet anthropic openai claude;
    compaction::summary_replaces_the_entries: puppet anthropic openai claude;
    compaction::summary_without_required_facts_is_rejected: puppet anthropic openai claude;
    compaction::long_conversation_is_compacted_before_the_next_answer: puppet anthropic openai claude;
    compaction::rejected_compaction_is_not_retried_at_every_message: puppet anthropic openai claude;
    compaction::turn_that_no_longer_fits_is_answered_after_a_compaction: puppet anthropic openai claude;
    compaction::request_that_certainly_does_not_fit_is_never_sent: puppet anthropic openai,
        but for claude: "the program keeps its conversation itself";
    compaction::message_longer_than_the_window_is_truncated: puppet anthropic openai,
        but for claude: "the request is cut before any client is asked";
    compaction::turn_that_does_not_fit_after_a_compaction_fails: puppet anthropic openai claude;
    compaction::new_message_waits_for_an_answer_delayed_by_a_compaction: puppet anthropic openai claude;
    compaction::image_is_sent_again_after_a_compaction: puppet anthropic openai claude;
    compaction::turn_that_cannot_be_made_to_fit_ends_visibly: puppet anthropic openai claude;
    compaction::compaction_waits_for_the_answer_and_messages_wait_for_it: puppet anthropic openai claude;
    compaction::crash_during_a_compaction_changes_nothing: puppet anthropic openai claude;
    compaction::undo_restores_the_exact_earlier_context: puppet anthropic openai claude;
    compaction::undo_keeps_later_entries: puppet anthropic openai claude;
    compaction::empty_conversation_cannot_be_compacted: puppet anthropic openai claude;
    fork_exits::report_reaches_main_once: puppet anthropic openai claude;
    fork_exits::model_writes_the_report_on_request: puppet anthropic openai claude;
    fork_exits::missing_report_leaves_the_fork_open: puppet anthropic openai claude;
    fork_exits::saved_fork_becomes_main: puppet anthropic openai claude;
    fork_exits::fork_can_be_left_during_an_answer: puppet anthropic openai claude;
    forks::model_enters_and_leaves_a_fork: puppet anthropic openai claude;
    fork_exits::model_saves_the_fork: puppet anthropic openai claude;
    fork_exits::last_exit_tool_of_the_model_counts: puppet anthropic openai claude;
    forks::history_lists_a_fork_once: puppet anthropic openai claude;
    forks::forks_are_never_nested_and_only_left_once: puppet anthropic openai claude;
    forks::messages_before_a_fork_command_are_answered_where_they_were_sent: puppet anthropic openai claude;
    forks::new_message_interrupts_the_answer_in_a_fork: puppet anthropic openai claude;
    forks::clear_in_a_fork_discards_the_fork_and_main: puppet anthropic openai claude;
    forks::fork_survives_a_crash: puppet anthropic openai claude;
    idle_forks::idle_fork_shows_a_notice_and_ends: puppet anthropic openai claude;
    idle_forks::model_sets_the_idle_timeout: puppet anthropic openai claude;
    idle_forks::requested_fork_opens_after_a_crash: puppet anthropic openai claude;
    idle_forks::full_fork_is_compacted_and_main_is_not: puppet anthropic openai claude;
    idle_forks::fork_that_waits_for_a_key_can_be_left: puppet,
        but for anthropic: "each wire has its own words for a refused key, and tests/key.rs tells them",
        but for openai: "the same",
        but for claude: "the same";
    undo::saved_fork_can_be_undone: puppet anthropic openai claude;
    undo::cleared_conversation_can_be_restored: puppet anthropic openai claude;
    undo::changes_are_undone_in_order: puppet anthropic openai claude;
    undo::nothing_can_be_undone_after_thirty_days: puppet anthropic openai claude;
    undo::undo_is_refused_in_a_fork_and_during_an_answer: puppet anthropic openai claude;
    updates::fork_sees_updates_and_main_reads_them: puppet anthropic openai claude;
    updates::saved_fork_consumes_the_updates_it_has_seen: puppet anthropic openai claude;
    updates::updates_of_a_failed_turn_are_not_lost: puppet anthropic openai claude;
    updates::too_many_updates_are_counted: puppet anthropic openai claude;
    updates::user_can_list_pending_updates: puppet anthropic openai claude;
    retries::broken_answer_is_continued: puppet anthropic openai claude;
    retries::break_after_a_tool_does_not_repeat_it: puppet anthropic openai claude;
    retries::model_that_keeps_failing_is_given_up: puppet anthropic openai claude;
    retries::new_message_interrupts_the_retry_wait: puppet anthropic openai claude;
    faults::unwritable_message_is_refused_and_leaves_nothing: puppet anthropic openai claude;
    faults::announcement_is_written_or_refused: puppet anthropic openai claude;
    faults::unwritable_answer_is_retried_until_written: puppet anthropic openai claude;
    faults::tool_with_an_unwritable_decision_does_not_run: puppet anthropic openai claude;
    faults::unwritable_result_is_not_lost: puppet anthropic openai claude;
    faults::panic_of_the_model_ends_only_its_turn: puppet,
        but for anthropic: "no server can make our client panic",
        but for openai: "no server can make our client panic",
        but for claude: "no server can make our client panic";
    faults::panic_of_a_tool_ends_only_its_turn_and_its_calls_are_answered: puppet anthropic openai claude;
    faults::crash_at_any_write_loses_nothing: puppet anthropic openai claude;
    outages::model_is_unreachable_for_an_hour: puppet anthropic openai claude;
    outages::requests_without_a_model_are_handled_at_once: puppet anthropic openai claude;
    outages::message_waiting_for_the_model_survives_a_crash: puppet anthropic openai claude;
    outages::reminder_rings_during_an_outage: puppet anthropic openai;
    outages::plan_of_the_model_is_not_repeated_offline: puppet anthropic openai;
    outages::failing_server_counts_as_unreachable: puppet anthropic openai;
    outages::answer_comes_soon_after_an_overload: puppet anthropic openai;
    outages::long_wait_of_a_server_is_limited_to_six_hours: puppet anthropic openai;
}
