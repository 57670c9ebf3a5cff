//! The stories of the engine, each run with every model that supports it.
//!
//! One list names the models of each story. The reason for a missing model follows `but for`.

mod approval;
mod away;
mod compaction;
mod conversation;
mod forks;
mod handing_over;
mod outside;
mod patience;
mod quiet;
mod trouble;
mod undo;
mod updates;
mod ways_out;

use testkit::story::Story;
use testkit::troupe::Troupe;

const MORNING: &str = "2026-11-15T08:00[Europe/Madrid]";

/// The model that a story runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Teller {
    /// A scripted model.
    Puppet,
    /// The client of the Messages API, with a fake server.
    Anthropic,
    /// The client of chat completions, with a fake server.
    OpenAi,
    /// The real Claude Code program, with a fake server.
    Claude,
}

/// Starts a story in the morning.
fn story(told_by: Teller) -> Story {
    match told_by {
        Teller::Puppet => Story::new(MORNING),
        Teller::Anthropic => Story::told_by(MORNING, Troupe::anthropic()),
        Teller::OpenAi => Story::told_by(MORNING, Troupe::openai()),
        Teller::Claude => Story::told_by(MORNING, Troupe::claude()),
    }
}

macro_rules! told_by {
    ($story:path, puppet) => {
        #[test]
        fn puppet() {
            $story($crate::Teller::Puppet);
        }
    };
    ($story:path, anthropic) => {
        #[test]
        fn anthropic() {
            $story($crate::Teller::Anthropic);
        }
    };
    ($story:path, openai) => {
        #[test]
        fn openai() {
            $story($crate::Teller::OpenAi);
        }
    };
    ($story:path, claude) => {
        #[test]
        #[ignore = "needs the claude program: `cargo xtask test` installs it"]
        fn claude() {
            $story($crate::Teller::Claude);
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
    conversation::a_message_is_answered_and_the_next_one_continues: puppet anthropic openai claude;
    conversation::the_model_is_told_the_time_of_every_message: puppet anthropic openai claude;
    conversation::a_tool_runs_between_two_replies: puppet anthropic openai claude;
    conversation::a_wrong_call_is_answered_in_words_the_model_can_act_on: puppet anthropic openai claude;
    conversation::a_call_of_a_tool_that_nobody_has_is_answered_with_those_there_are: puppet anthropic openai,
        but for claude: "the program answers such a call by itself, and we never hear of it";
    conversation::a_new_message_cuts_the_answer_off_and_the_tree_stays_in_order: puppet anthropic openai claude;
    conversation::messages_that_wait_are_answered_in_order: puppet anthropic openai claude;
    conversation::the_human_can_stop_an_answer_and_there_may_be_none: puppet anthropic openai claude;
    conversation::a_message_without_words_is_refused_and_costs_nothing: puppet anthropic openai claude;
    conversation::a_model_that_does_not_answer_says_why_and_the_next_message_works: puppet anthropic openai claude;
    conversation::an_answer_that_grows_too_long_is_cut_and_says_so: puppet anthropic openai,
        but for claude: "the program asks its model three times to go on before it gives up";
    conversation::a_model_that_asks_to_wait_says_how_long: puppet anthropic openai,
        but for claude: "the program does not tell how long its vendor wants to be left alone";
    conversation::a_model_that_runs_in_circles_is_stopped: puppet anthropic openai claude;
    conversation::a_reply_with_too_many_calls_runs_those_that_the_limit_allows: puppet anthropic openai,
        but for claude: "the limit is held before any client is asked";
    conversation::a_crash_in_the_middle_of_an_answer_loses_nothing_and_the_answer_comes_after_it: puppet anthropic openai claude;
    conversation::a_message_that_waits_survives_a_crash: puppet anthropic openai claude;
    conversation::new_words_after_a_crash_wait_for_the_answer_that_is_owed: puppet anthropic openai claude;
    conversation::a_turn_that_the_program_dies_of_is_not_tried_for_ever: puppet anthropic openai claude;
    conversation::a_conversation_with_a_fork_and_a_compaction_is_drawn: puppet anthropic openai claude;
    approval::a_call_waits_for_the_humans_yes_whoever_makes_it: puppet anthropic openai claude;
    approval::new_words_go_past_a_call_that_waits_whoever_makes_it: puppet anthropic openai claude;
    compaction::a_summary_stands_for_what_was_said: puppet anthropic openai claude;
    compaction::a_forgetful_summary_is_refused_and_nothing_changes: puppet anthropic openai claude;
    compaction::a_long_conversation_is_compacted_before_the_next_answer: puppet anthropic openai claude;
    compaction::a_refused_compaction_does_not_come_back_at_every_message: puppet anthropic openai claude;
    compaction::a_turn_that_no_longer_fits_is_answered_after_a_compaction: puppet anthropic openai claude;
    compaction::a_request_that_certainly_does_not_fit_is_never_sent: puppet anthropic openai,
        but for claude: "the program keeps its conversation itself";
    compaction::a_message_longer_than_the_window_is_cut_with_a_note: puppet anthropic openai,
        but for claude: "the request is cut before any client is asked";
    compaction::a_turn_that_does_not_fit_after_a_compaction_either_says_so: puppet anthropic openai claude;
    compaction::new_words_wait_for_the_answer_that_waited_for_a_compaction: puppet anthropic openai claude;
    compaction::a_picture_is_shown_again_after_a_compaction: puppet anthropic openai claude;
    compaction::a_turn_that_no_longer_fits_and_cannot_be_helped_says_so: puppet anthropic openai claude;
    compaction::a_compaction_waits_for_the_answer_and_words_wait_for_the_compaction: puppet anthropic openai claude;
    compaction::a_compaction_that_dies_changes_nothing: puppet anthropic openai claude;
    compaction::undo_restores_the_exact_earlier_context: puppet anthropic openai claude;
    compaction::undo_after_more_was_said_keeps_what_was_said: puppet anthropic openai claude;
    compaction::nothing_is_compacted_where_nothing_was_said: puppet anthropic openai claude;
    ways_out::a_report_comes_back_to_main_once: puppet anthropic openai claude;
    ways_out::the_model_writes_the_report_that_the_human_wants: puppet anthropic openai claude;
    ways_out::a_report_that_nobody_wrote_leaves_the_fork_open: puppet anthropic openai claude;
    ways_out::a_saved_fork_becomes_main: puppet anthropic openai claude;
    ways_out::a_fork_is_left_in_the_middle_of_an_answer: puppet anthropic openai claude;
    forks::the_model_enters_and_leaves: puppet anthropic openai claude;
    ways_out::the_model_saves: puppet anthropic openai claude;
    ways_out::the_models_last_word_counts: puppet anthropic openai claude;
    forks::the_history_knows_a_fork_once: puppet anthropic openai claude;
    forks::forks_are_never_nested_and_only_left_once: puppet anthropic openai claude;
    forks::words_before_a_fork_are_heard_on_main_and_words_before_its_end_in_it: puppet anthropic openai claude;
    forks::new_words_cut_the_answer_off_in_a_fork: puppet anthropic openai claude;
    forks::clear_in_a_fork_drops_both: puppet anthropic openai claude;
    forks::a_fork_survives_a_crash: puppet anthropic openai claude;
    quiet::a_quiet_fork_is_asked_about_and_ends_by_itself: puppet anthropic openai claude;
    quiet::the_model_says_how_long_a_fork_may_be_quiet: puppet anthropic openai claude;
    quiet::a_fork_that_was_asked_for_begins_after_a_crash: puppet anthropic openai claude;
    quiet::a_full_fork_is_compacted_and_main_is_not: puppet anthropic openai claude;
    quiet::a_fork_that_waits_for_a_key_can_be_left: puppet,
        but for anthropic: "each wire has its own words for a refused key, and tests/key.rs tells them",
        but for openai: "the same",
        but for claude: "the same";
    undo::a_saved_fork_is_taken_back: puppet anthropic openai claude;
    undo::a_cleared_conversation_comes_back: puppet anthropic openai claude;
    undo::changes_are_taken_back_in_order: puppet anthropic openai claude;
    undo::after_thirty_days_nothing_is_taken_back: puppet anthropic openai claude;
    undo::nothing_is_taken_back_in_a_fork_or_in_the_middle_of_an_answer: puppet anthropic openai claude;
    updates::a_fork_looks_at_updates_and_main_reads_them: puppet anthropic openai claude;
    updates::a_saved_fork_takes_over_what_it_has_seen: puppet anthropic openai claude;
    updates::updates_of_a_failed_turn_are_not_lost: puppet anthropic openai claude;
    updates::too_many_updates_are_counted: puppet anthropic openai claude;
    updates::the_human_sees_what_waits: puppet anthropic openai claude;
    patience::an_answer_that_breaks_off_is_continued_after_a_while: puppet anthropic openai claude;
    patience::a_break_after_a_tool_does_not_repeat_it: puppet anthropic openai claude;
    patience::a_model_that_never_comes_back_is_given_up: puppet anthropic openai claude;
    patience::a_new_message_ends_the_waiting: puppet anthropic openai claude;
    trouble::a_message_that_cannot_be_written_is_refused_and_leaves_nothing: puppet anthropic openai claude;
    trouble::what_the_program_announces_is_written_or_refused: puppet anthropic openai claude;
    trouble::an_answer_that_cannot_be_written_is_tried_until_it_can: puppet anthropic openai claude;
    trouble::a_tool_whose_decision_cannot_be_written_does_not_run: puppet anthropic openai claude;
    trouble::a_result_that_cannot_be_written_at_once_is_not_lost: puppet anthropic openai claude;
    trouble::a_model_that_breaks_ends_only_its_own_turn: puppet,
        but for anthropic: "no server can make our client panic",
        but for openai: "no server can make our client panic",
        but for claude: "no server can make our client panic";
    trouble::a_tool_that_breaks_ends_only_its_own_turn_and_its_calls_are_answered: puppet anthropic openai claude;
    trouble::a_death_at_any_writing_loses_nothing: puppet anthropic openai claude;
    away::the_model_goes_away_for_an_hour: puppet anthropic openai claude;
    away::words_that_need_no_model_are_done_at_once: puppet anthropic openai claude;
    away::what_waits_for_the_model_survives_a_crash: puppet anthropic openai claude;
    away::a_reminder_rings_past_a_model_that_goes_away: puppet anthropic openai;
    away::what_the_model_planned_is_not_planned_again: puppet anthropic openai;
    away::a_model_that_breaks_is_away: puppet anthropic openai;
    away::an_answer_comes_soon_after_an_overload: puppet anthropic openai;
    away::a_server_that_asks_for_a_long_wait_is_tried_again_after_six_hours: puppet anthropic openai;
}
