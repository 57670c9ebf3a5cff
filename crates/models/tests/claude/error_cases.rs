//! Error cases with the stand-in that the real program would not produce on demand.

use std::sync::Arc;
use std::time::Duration;

use domain::conversation::{Block, Text};
use domain::effort::Effort;
use domain::failure::{Failure, InvalidReply};
use domain::turn::StopReason;
use engine::ports::Model;
use models::claude::{Notice, PermissionMode, ProgramTimeouts};

use crate::support::{Conversation, is_running, stand_in, stand_in_with};

async fn answer(script: &str) -> String {
    let play = stand_in(script);
    let text = Conversation::main().say(&play.claude, "hi").await;
    play.claude.close().await;
    assert!(play.notices.processes().into_iter().all(|process| !is_running(process)));
    text
}

async fn failure(script: &str) -> Failure {
    let play = stand_in(script);
    let mut talk = Conversation::main();
    talk.add_user("hi");
    let failure = talk.reply(&play.claude).await.1.unwrap_err();
    play.claude.close().await;
    failure
}

#[tokio::test]
async fn garbage_and_unknown_frames_are_skipped() {
    let script = r#"
        ready; hear_of '"user"'; begin
        echo 'warning: something'; echo; echo '{"type":'; echo '{"type":"never_seen","x":[1]}'; echo '{}'; echo '[1]'
        echo '{"type":"assistant","message":7}'; echo '{"type":"stream_event","event":{"type":"new_event"}}'
        echo '{"type":"control_response","response":{"subtype":"success","request_id":"nobody","response":{}}}'
        printf '{"type":"\377\376"}\n'
        say 'Here.'; end
    "#;
    assert_eq!(answer(script).await, "Here.");
}

/// EN-14: text of a subagent is not part of the answer.
#[tokio::test]
async fn subagent_text_is_not_part_of_the_answer() {
    let script = r#"
        ready; hear_of '"user"'; begin
        echo '{"type":"stream_event","parent_tool_use_id":"toolu_1","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"psst"}}}'
        echo '{"type":"assistant","parent_tool_use_id":"toolu_1","message":{"content":[{"type":"text","text":"psst"}]}}'
        say 'Here.'; end
    "#;
    assert_eq!(answer(script).await, "Here.");
}

/// ST-7: text that was not streamed is read from the message or from the result, never from both.
#[tokio::test]
async fn unstreamed_text_appears_once() {
    let whole = r#"echo '{"type":"assistant","message":{"content":[{"type":"text","text":"One."},{"type":"text","text":"Two."}]},"parent_tool_use_id":null}'"#;
    let turn =
        |middle: &str| format!("ready; hear_of '\"user\"'; begin; {middle}; end '\"result\":\"Two.\"'");
    assert_eq!(answer(&turn(whole)).await, "One.\n\nTwo.");
    assert_eq!(answer(&turn("true")).await, "Two.");
    assert_eq!(answer(&turn("say 'Two.'")).await, "Two.");
}

/// EN-1, EN-2, EN-12: the program is started in its directory, with our instructions, model and
/// effort. Our tools are allowed in advance, all others need a permission, and text is streamed.
#[tokio::test]
async fn program_is_started_with_the_configured_arguments() {
    let play = stand_in("printf '%s\\n' \"$PWD\" \"$@\" > words; ready; turn 'Yes.'");
    assert_eq!(Conversation::main().say(&play.claude, "hi").await, "Yes.");
    play.claude.close().await;
    let home = play.home.path().canonicalize().unwrap();
    let words = std::fs::read_to_string(home.join("words")).unwrap();
    let words: Vec<&str> = words.lines().collect();
    assert_eq!(words[0], home.to_str().unwrap());
    let after = |flag: &str| words.iter().skip_while(|word| **word != flag).nth(1).copied();
    assert_eq!(after("--model"), Some("claude-test-1"));
    assert_eq!(after("--permission-mode"), Some("default"));
    assert_eq!(after("--permission-prompt-tool"), Some("stdio"));
    assert_eq!(after("--allowedTools"), Some("mcp__ollim"));
    assert_eq!(after("--effort"), Some("low"));
    assert_eq!(after("--thinking"), None);
    assert_eq!(after("--system-prompt-snapshot"), Some("on"));
    assert!(after("--system-prompt").is_some_and(|told| !told.is_empty()), "{words:?}");
    assert!(after("--mcp-config").is_some_and(|servers| servers.contains("\"ollim\"")), "{words:?}");
    assert!(words.contains(&"--include-partial-messages"), "{words:?}");
}

/// A resumed session keeps its instructions, and with them its signed thinking, until ours change.
/// Another effort needs another process, because the program cannot change it while it runs.
#[tokio::test]
async fn effort_and_snapshot_follow_the_context() {
    let play = stand_in(
        "echo \"$*\" | tr '\\n' ' ' >> words; echo >> words; ready; while true; do turn 'Yes.'; done",
    );
    let mut talk = Conversation::main();
    talk.say(&play.claude, "one").await;
    talk.0.effort = Effort::High;
    talk.say(&play.claude, "two").await;
    talk.say(&play.claude, "three").await;
    talk.0.instructions = Arc::from("You are another friend.");
    talk.say(&play.claude, "four").await;
    play.claude.close().await;
    let words = std::fs::read_to_string(play.home.path().join("words")).unwrap();
    let starts: Vec<[bool; 3]> = words
        .lines()
        .map(|line| {
            ["--effort low", "--system-prompt-snapshot on", "--resume=s-1"].map(|flag| line.contains(flag))
        })
        .collect();
    assert_eq!(starts, [[true, true, false], [false, true, true], [false, false, true]], "{words}");
}

/// EN-10: the session id of the latest result is used.
#[tokio::test]
async fn session_is_resumed_with_its_latest_id() {
    let script = r#"
        ready
        case "$*" in
            *--resume=s-2*) turn 'I remember.' ;;
            *--resume*) exit 3 ;;
            *) hear_of '"user"'; begin; say 'One.'; end '"session_id":"s-2"'; exit 0 ;;
        esac
    "#;
    let play = stand_in(script);
    let mut talk = Conversation::main();
    assert_eq!(talk.say(&play.claude, "a").await, "One.");
    assert_eq!(talk.say(&play.claude, "b").await, "I remember.");
    play.claude.close().await;
}

/// Returns a script that replies with one line of `bytes` bytes of text.
fn long_line(bytes: usize) -> String {
    let script = r#"
        ready; hear_of '"user"'; begin
        printf '{"type":"assistant","parent_tool_use_id":null,"message":{"content":[{"type":"text","text":"'
        head -c BYTES /dev/zero | tr '\0' 'a'
        printf '"}]}}\n'; end
    "#;
    script.replace("BYTES", &bytes.to_string())
}

#[tokio::test]
async fn line_of_a_million_bytes_is_read() {
    assert_eq!(answer(&long_line(1_000_000)).await.len(), 1_000_000);
}

#[tokio::test]
async fn line_above_the_reply_limit_is_refused() {
    let failed = failure(&long_line(5_000_000)).await;
    assert!(matches!(failed, Failure::InvalidReply(InvalidReply::TooLarge { .. })), "{failed:?}");
}

#[tokio::test]
async fn tool_list_is_answered_before_the_program_is_ready() {
    let script = r#"
        hear_of initialize
        echo '{"type":"control_request","request_id":"c1","request":{"subtype":"mcp_message","server_name":"ollim","message":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}}'
        hear_of '"c1"'
        case $LINE in *Writes*) ;; *) exit 1 ;; esac
        answer ollim-1; turn 'I know them.'
    "#;
    assert_eq!(answer(script).await, "I know them.");
}

#[tokio::test]
async fn unknown_request_is_answered_with_an_error() {
    let script = r#"
        ready; hear_of '"user"'; begin
        echo '{"type":"control_request","request_id":"c1","request":{"subtype":"sing"}}'; hear_of '"c1"'
        case $LINE in *error*) say 'Refused.' ;; esac
        end
    "#;
    assert_eq!(answer(script).await, "Refused.");
}

/// Calls that arrive one at a time, each after the previous one was answered.
#[tokio::test]
async fn late_call_of_the_same_message_ends_its_own_reply() {
    let play = stand_in(
        r#"
        call() { echo "{\"type\":\"control_request\",\"request_id\":\"c-$1\",\"request\":{\"subtype\":\"mcp_message\",\"message\":{\"id\":$2,\"method\":\"tools/call\",\"params\":{\"name\":\"note\",\"arguments\":{\"text\":null},\"_meta\":{\"claudecode/toolUseId\":\"$1\"}}}}}"; }
        tool() { echo "{\"type\":\"assistant\",\"parent_tool_use_id\":null,\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"$1\",\"name\":\"mcp__ollim__note\"}]}}"; }
        ready; hear_of '"user"'; begin
        event '{"type":"message_start","message":{}}'; tool a; call a 1; tool b; event '{"type":"message_stop"}'
        hear_of noted; call b 2
        hear_of noted; say 'Both.'; end
        "#,
    );
    let mut talk = Conversation::main();
    talk.add_user("hi");
    for id in ["a", "b"] {
        let reply = talk.reply(&play.claude).await.1.unwrap();
        let [Block::Call(call)] = &reply.blocks[..] else { panic!("{reply:?}") };
        assert_eq!(
            (call.id.as_str(), call.input.0.as_str(), reply.stop_reason),
            (id, r#"{"text":null}"#, StopReason::Tools)
        );
        talk.add_results(&reply);
    }
    assert_eq!(talk.reply(&play.claude).await.1.unwrap().blocks.text(), "Both.");
    play.claude.close().await;
}

#[tokio::test]
async fn unsolicited_result_is_ignored() {
    let play = stand_in(
        "ready; turn 'One.'; end; hear_of set_permission_mode; answer ollim-2; turn 'Two.'; turn 'Three.'",
    );
    let mut talk = Conversation::main();
    assert_eq!(talk.say(&play.claude, "a").await, "One.");
    play.claude.set_mode(PermissionMode::Plan).await.unwrap();
    assert_eq!(talk.say(&play.claude, "b").await, "Two.");
    assert_eq!(talk.say(&play.claude, "c").await, "Three.");
    assert_eq!(play.notices.processes().len(), 1);
    play.claude.close().await;
}

/// The ledger uses the vendor's name of the model, not our alias.
#[tokio::test]
async fn model_is_reported_with_the_vendors_name() {
    let script = r#"
        ready; hear_of '"user"'; begin
        event '{"type":"message_start","message":{"id":"m","model":"claude-opus-9","usage":{"input_tokens":7}}}'
        event '{"type":"message_stop"}'; end
    "#;
    let play = stand_in(script);
    let mut talk = Conversation::main();
    talk.0.model = Some("opus".to_owned());
    talk.add_user("hi");
    assert_eq!(play.claude.name_for(&talk.0), "claude:opus");
    assert_eq!(talk.reply(&play.claude).await.1.unwrap().usage.input, 7);
    assert_eq!(play.claude.name_for(&talk.0), "claude:claude-opus-9");
    assert_eq!(play.claude.name_for(&talk.fork("quiet").0), "claude:opus");
    play.claude.close().await;
}

#[tokio::test]
async fn refused_model_is_reported_and_the_next_one_answers() {
    let script = r#"
        ready; turn 'One.'; hear_of set_model
        echo '{"type":"control_response","response":{"subtype":"error","request_id":"ollim-2","error":"no such model"}}'
        turn 'Never.'
    "#;
    let play = stand_in(script);
    let mut talk = Conversation::main();
    talk.say(&play.claude, "a").await;
    talk.0.model = Some("opus".to_owned());
    talk.add_user("b");
    assert_eq!(talk.reply(&play.claude).await.1.unwrap_err(), Failure::Rejected("no such model".to_owned()));
    talk.0.model = None;
    assert_eq!(talk.say(&play.claude, "c").await, "One.");
    assert_eq!(play.notices.processes().len(), 2);
    play.claude.close().await;
}

#[tokio::test]
async fn program_exit_in_a_turn_reports_its_stderr() {
    let failed = failure("ready; hear_of user; begin; echo 'out of memory' >&2; kill -9 $$").await;
    assert_eq!(failed, Failure::VendorError("the claude program ended: out of memory".to_owned()));
    let failed = failure("echo 'no such flag' >&2; exit 1").await;
    assert_eq!(failed, Failure::VendorError("the claude program ended: no such flag".to_owned()));
}

/// EN-11: the program exits between two turns, which is detected by the next write.
#[tokio::test]
async fn program_that_exited_before_the_message_is_restarted() {
    let script =
        "ready; if [ -e met ]; then turn 'Again.'; else touch met; turn 'One.'; hear_of b; exit 1; fi";
    let play = stand_in(script);
    let mut talk = Conversation::main();
    assert_eq!(talk.say(&play.claude, "a").await, "One.");
    assert_eq!(talk.say(&play.claude, "b").await, "Again.");
    assert!(play.home.path().join("met").exists());
    assert_eq!(play.notices.processes().len(), 2);
    play.claude.close().await;
}

#[tokio::test]
async fn program_that_is_never_ready_is_given_up_and_ended() {
    let short = |patience: &mut ProgramTimeouts| {
        (patience.start, patience.restart_delays) = (Duration::from_millis(100), [Duration::ZERO; 2]);
    };
    let play = stand_in_with("while hear; do :; done", short);
    let mut talk = Conversation::main();
    talk.add_user("hi");
    let failure = talk.reply(&play.claude).await.1.unwrap_err();
    assert_eq!(failure, Failure::Unreachable("the claude program was not ready after 0.1 s".to_owned()));
    play.claude.close().await;
    assert!(!is_running(play.notices.processes()[0]));
}

#[tokio::test]
async fn stalled_program_is_given_up_and_its_text_is_kept() {
    let short = |patience: &mut ProgramTimeouts| patience.stall = Duration::from_secs(5);
    let play = stand_in_with("ready; hear_of '\"user\"'; begin; say 'Half'; while hear; do :; done", short);
    let mut talk = Conversation::main();
    talk.add_user("hi");
    let (heard, reply) = talk.reply(&play.claude).await;
    assert_eq!((heard.as_str(), reply), ("Half", Err(Failure::CutOff("silent for 5 s".to_owned()))));
    play.claude.close().await;
}

/// A reply without end is stopped, and the program ends, so that the rest costs nothing.
#[tokio::test]
async fn reply_that_takes_too_long_is_stopped() {
    let short = |patience: &mut ProgramTimeouts| patience.total = Duration::from_millis(500);
    let play = stand_in_with("ready; hear_of '\"user\"'; begin; say 'Half'; while :; do say .; done", short);
    let mut talk = Conversation::main();
    talk.add_user("hi");
    let (heard, reply) = talk.reply(&play.claude).await;
    assert!(heard.starts_with("Half"), "{heard}");
    assert_eq!(reply, Err(Failure::CutOff("not done after 0.5 s".to_owned())));
    play.claude.close().await;
    assert!(!is_running(play.notices.processes()[0]));
}

/// CP-6, CP-9: after a compaction the message is sent again only without an answer, and only once.
#[tokio::test]
async fn turn_with_compaction_is_answered_once() {
    let boundary = r#"echo '{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto","pre_tokens":9000}}'"#;
    let answered =
        answer(&format!("ready; hear_of '\"user\"'; begin; {boundary}; say 'Once.'; end; turn 'Twice.'"))
            .await;
    assert_eq!(answered, "Once.");
    let again = stand_in(&format!(
        "ready; hear_of '\"hi\"'; begin; {boundary}; end; turn_again() {{ hear_of '\"hi\"'; begin; {boundary}; say 'Now.'; end; }}; turn_again"
    ));
    assert_eq!(Conversation::main().say(&again.claude, "hi").await, "Now.");
    let compacted =
        |notice: &&Notice| matches!(notice, Notice::Compacted(boundary) if boundary.pre_tokens == Some(9000));
    assert_eq!(again.notices.all().iter().filter(compacted).count(), 2);
    let never = stand_in(&format!("ready; while hear_of '\"hi\"'; do begin; {boundary}; end; done"));
    let mut talk = Conversation::main();
    talk.add_user("hi");
    assert!(talk.reply(&never.claude).await.1.unwrap().blocks.is_empty());
    for play in [again, never] {
        play.claude.close().await;
    }
}

/// A program that ignores the end of its input and SIGTERM is killed.
#[tokio::test]
async fn program_that_ignores_sigterm_is_killed() {
    let short = |patience: &mut ProgramTimeouts| patience.end = Duration::from_millis(100);
    let play = stand_in_with("trap '' TERM; ready; turn 'Hello.'; exec sleep 600", short);
    Conversation::main().say(&play.claude, "hi").await;
    play.claude.close().await;
    assert!(!is_running(play.notices.processes()[0]));
}

/// The requester leaves before the program is ready; the next request is answered.
#[tokio::test]
async fn abandoned_request_is_dropped_and_the_next_is_answered() {
    let play = stand_in(
        r#"
        hear_of initialize; while [ ! -e go ]; do sleep 0.01; done; answer ollim-1
        hear_of '"user"'; begin; case $LINE in *second*) say 'Second.' ;; esac; end
        "#,
    );
    let mut talk = Conversation::main();
    talk.add_user("first");
    let started = async {
        while play.notices.processes().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = play.claude.reply(&talk.0, &|_: &str| {}) => panic!("nobody was ready"),
        () = started => {}
    }
    std::fs::write(play.home.path().join("go"), "").unwrap();
    assert_eq!(talk.say(&play.claude, "second").await, "Second.");
    play.claude.close().await;
}
