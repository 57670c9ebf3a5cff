//! Conversations with each kind of Anthropic model, on a fake server that enforces the vendor's
//! rules.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::time::Instant;

use domain::conversation::Usage;
use serde_json::{Value, json};
use testkit::model_server::{Gate, Host, MessagesRequest, Options, ReplyFault, ScriptedReply};
use testkit::process::{BackgroundModelServer, Pane, Program, RunningProgram, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// Contains all required facts of the conversation below, so that it is accepted.
const SUMMARY: &str =
    "The user asked to remember milk, which is in the inbox, and has the booking LH4711 to Lisbon.";

/// An image of one pixel.
const IMAGE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\nIDATx\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";

/// The program and its model server.
struct Conversation {
    model_server: BackgroundModelServer,
    program: Program,
}

impl Conversation {
    fn with(model: &str) -> Self {
        Self::on_server(BackgroundModelServer::start(), model)
    }

    fn on_server(model_server: BackgroundModelServer, model: &str) -> Self {
        let mut program = Program::with_model(BINARY, &model_server);
        program.set_env("OLLIM_MODEL", &format!("anthropic:{model}")).set_env("OLLIM_THINKING", "adaptive");
        Self { model_server, program }
    }

    /// Sends `words`, and checks that the reply contains `answer`.
    fn exchange(&self, words: &str, acts: impl IntoIterator<Item = ScriptedReply>, answer: &str) {
        self.model_server.model().script(acts);
        let output = self.program.run(&["chat", "--once", words]);
        assert_eq!(output.status.code(), Some(0), "{words}: {} {:?}", stderr(&output), self.refusals());
        assert!(stdout(&output).contains(answer), "{words}: {}", stdout(&output));
    }

    /// Sends an image and `words`.
    fn send_image(&self, words: &str, acts: impl IntoIterator<Item = ScriptedReply>) {
        self.model_server.model().script(acts);
        let file = self.program.home().join("picture.png");
        std::fs::write(&file, IMAGE).expect("a picture");
        let output = self.program.run(&["chat", "--once", "--image", file.to_str().expect("a path"), words]);
        assert_eq!(output.status.code(), Some(0), "{words}: {} {:?}", stderr(&output), self.refusals());
    }

    /// Sends `words`, and checks that it fails with all of `sentences`.
    fn expect_failure(&self, words: &str, acts: impl IntoIterator<Item = ScriptedReply>, sentences: &[&str]) {
        self.model_server.model().script(acts);
        let output = self.program.run(&["chat", "--once", words]);
        assert_eq!(output.status.code(), Some(1), "{words}: {}", stdout(&output));
        for sentence in sentences {
            assert!(stderr(&output).contains(sentence), "{words}: {sentence}: {}", stderr(&output));
        }
    }

    /// Sends `words`, and checks that the answer is cut off and can be continued.
    fn expect_cut_off(&self, words: &str, act: ScriptedReply) {
        self.model_server.model().script([act]);
        let output = self.program.run(&["chat", "--once", words]);
        assert_eq!(output.status.code(), Some(1), "{words}: {}", stdout(&output));
        assert!(stderr(&output).contains("say `go on`"), "{words}: {}", stderr(&output));
    }

    /// Runs `ask`, and releases the reply at `gate` once the model's record is stored.
    fn release_after_record<T>(&self, gate: &Gate, ask: impl FnOnce() -> T) -> T {
        let file = self.program.data().join("state/models.json");
        let started = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !file.exists() && started.elapsed() < testkit::TEST_TIMEOUT {
                    std::thread::yield_now();
                }
                gate.release();
            });
            ask()
        })
    }

    fn refusals(&self) -> Vec<Option<String>> {
        self.model_server.model().refused_requests().into_iter().map(|logged| logged.refusal).collect()
    }

    fn last_request(&self) -> Value {
        self.model_server.requests().pop().expect("a request").json
    }
}

/// A scripted refusal that does not come from the rules of the server.
fn refuse_image() -> ScriptedReply {
    ScriptedReply::refusal(
        400,
        "invalid_request_error",
        "messages.9.content.0.image: Could not process image",
    )
}

fn thinking() -> ScriptedReply {
    ScriptedReply::empty().with_signed_thinking("Let me see.")
}

fn tool_loop() -> [ScriptedReply; 2] {
    [
        thinking().with_note("Writing it down.").with_tool_call("inbox_add", &json!({"text": "milk"})),
        thinking().with_text("Kept."),
    ]
}

/// Runs a conversation on `model`, with `other` as the model for a while.
fn run_conversation(model: &str, other: &str) -> Conversation {
    let mut conversation = Conversation::with(model);
    conversation.exchange("remember milk; my booking to Lisbon is LH4711", tool_loop(), "Kept.");
    conversation.exchange("/name Julia", [], "Julia");
    conversation.exchange("who am i?", [thinking().with_text("Julia.")], "Julia.");
    let changed = conversation.last_request();
    assert!(changed["messages"].to_string().contains("Your instructions have changed."), "{changed}");
    assert!(!changed["system"].to_string().contains("Julia"), "{changed}");
    // Thinking counts towards the limit, so a small one would cut answers off.
    assert!(changed["max_tokens"].as_u64() >= Some(32_000), "{changed}");

    conversation.exchange(&format!("/model {other}"), [], other);
    conversation.exchange("and now?", tool_loop(), "Kept.");
    conversation.exchange("/model default", [], "");
    conversation.exchange("back again?", tool_loop(), "Kept.");
    assert_eq!(conversation.last_request()["model"], model);

    conversation.program.set_env("OLLIM_BOT_NAME", "Robin");
    conversation.exchange("what is your name?", [thinking().with_text("Robin.")], "Robin.");
    assert!(conversation.last_request()["messages"].to_string().contains("Robin"));

    let running = conversation.program.start();
    conversation.model_server.model().script([
        thinking().with_text("Side talk."),
        thinking().with_text("Aside."),
        thinking().with_text("Yes."),
    ]);
    running.command("/fork a detour").expect("a side conversation");
    let answered = running.send_and_wait("more on that").expect("an answer");
    assert_eq!(answered.data["how"], "finished", "{answered:?}");
    running.command("/save").expect("it is saved");
    let answered = running.send_and_wait("still there?").expect("an answer");
    assert_eq!(answered.data["how"], "finished", "{answered:?}");
    running.terminate();

    conversation.exchange("/compact", [thinking().with_text(SUMMARY)], "");
    conversation.exchange("what was my booking?", [thinking().with_text("LH4711.")], "LH4711.");
    let compacted = conversation.last_request();
    assert!(compacted["messages"].to_string().contains("[summary of our conversation"), "{compacted}");
    assert!(
        compacted["system"].to_string().contains("Julia"),
        "a summary begins with the newest instructions"
    );
    conversation.exchange("/undo", [], "");
    conversation.exchange("and before?", [thinking().with_text("Yes.")], "Yes.");
    assert!(!conversation.last_request()["messages"].to_string().contains("[summary of our conversation"));

    conversation.expect_cut_off(
        "tell me a story",
        ScriptedReply::text("Once upon a time there was a fox").with_fault(ReplyFault::Cut(4)),
    );
    conversation.exchange("go on", tool_loop(), "Kept.");

    conversation.send_image("look at this", [refuse_image(), thinking().with_text("I can't see it.")]);
    assert!(!conversation.last_request()["messages"].to_string().contains("image/png"));
    conversation.exchange("never mind", [thinking().with_text("All right.")], "All right.");
    assert!(
        conversation.last_request()["messages"].to_string().contains("image/png"),
        "it is shown to others again"
    );
    conversation
}

#[test]
fn sonnet_accepts_all_requests() {
    assert_eq!(run_conversation("claude-sonnet-5-5", "haiku").refusals(), []);
}

#[test]
fn opus_accepts_all_requests() {
    assert_eq!(run_conversation("claude-opus-5-5", "sonnet").refusals(), []);
}

#[test]
fn haiku_accepts_all_requests() {
    assert_eq!(run_conversation("claude-haiku-5-5", "opus").refusals(), []);
}

#[test]
fn fable_accepts_all_requests() {
    assert_eq!(run_conversation("claude-fable-5-2", "sonnet").refusals(), []);
}

#[test]
fn older_haiku_accepts_all_requests() {
    assert_eq!(run_conversation("claude-haiku-4-5", "sonnet").refusals(), []);
}

/// Every thinking setting results in a request that the model accepts, including `auto`, the
/// default.
#[test]
fn every_thinking_setting_is_accepted_by_every_model() {
    for model in
        ["claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-fable-5-2", "claude-haiku-4-5"]
    {
        let mut talk = Conversation::with(model);
        talk.program.set_env("OLLIM_THINKING", "auto");
        let running = talk.program.start();
        for setting in ["auto", "off", "8k", "adaptive", "64k", "auto"] {
            running.command(&format!("/thinking {setting}")).expect("a choice");
            talk.model_server.model().script(tool_loop());
            let answered = running.send_and_wait("remember milk").expect("an answer");
            assert_eq!(answered.data["how"], "finished", "{model} {setting}: {answered:?}");
        }
        running.terminate();
        assert_eq!(talk.refusals(), [], "{model}");
    }
}

/// With thinking off, Sonnet 5.5 has no field that drops thinking from another conversation. After
/// an undone compaction the first request is refused and repeated without that thinking; later ones
/// are not refused.
#[test]
fn refusal_of_earlier_thinking_never_reaches_the_user() {
    let mut talk = Conversation::with("claude-sonnet-5-5");
    talk.program.set_env("OLLIM_THINKING", "off");
    let running = talk.program.start();
    talk.exchange("remember milk; my booking to Lisbon is LH4711", tool_loop(), "Kept.");
    talk.exchange("/compact", [thinking().with_text(SUMMARY)], "");
    talk.exchange("and more milk", tool_loop(), "Kept.");
    assert_eq!(talk.refusals(), []);
    talk.exchange("/undo", [], "");
    talk.exchange("and before?", tool_loop(), "Kept.");
    talk.exchange("again?", tool_loop(), "Kept.");
    let refusals = talk.refusals();
    let [Some(refusal)] = &refusals[..] else { panic!("{refusals:?}") };
    assert!(refusal.contains("bound to a different conversation"), "{refusal}");
    running.terminate();
}

/// A third-party host that refuses newer fields no longer gets them. Each request comes from
/// another process, so this is remembered across restarts.
#[test]
fn fields_refused_by_a_host_are_omitted() {
    let options = Options { host: Host::Foreign, ..Options::default() };
    let talk = Conversation::on_server(BackgroundModelServer::start_with(options), "claude-sonnet-5-5");
    let refusal_count = || {
        let all = talk.model_server.model().refused_requests();
        all.iter().filter(|logged| logged.method == "POST").count()
    };
    talk.exchange("hi", [ScriptedReply::text("Hello.")], "Hello.");
    let first_count = refusal_count();
    assert!((1..=6).contains(&first_count), "{:?}", talk.refusals());
    talk.exchange("remember milk", tool_loop(), "Kept.");
    assert_eq!(refusal_count(), first_count, "{:?}", talk.refusals());
    // Changed instructions are sent as a special message to the vendor, which other hosts refuse
    // too.
    talk.exchange("/name Julia", [], "Julia");
    talk.exchange("who am i?", [ScriptedReply::text("Julia.")], "Julia.");
    assert_eq!(refusal_count(), first_count + 1, "{:?}", talk.refusals());
    talk.exchange("sure?", [ScriptedReply::text("Yes.")], "Yes.");
    assert_eq!(refusal_count(), first_count + 1, "{:?}", talk.refusals());
    assert!(talk.last_request()["messages"].to_string().contains("Julia"));
}

/// Returns the effort of each request so far.
fn efforts(talk: &Conversation) -> Vec<String> {
    let effort = |request: &MessagesRequest| request.json["output_config"]["effort"].to_string();
    talk.model_server.requests().iter().map(effort).collect()
}

/// A reply that used its limit for thinking is requested once more at a lower effort.
#[test]
fn thinking_only_reply_is_retried_at_a_lower_effort() {
    let talk = Conversation::with("claude-sonnet-5-5");
    let long = || ScriptedReply::thinking_only("Let me think about all of it.");
    talk.exchange("think", [long(), thinking().with_text("Done.")], "Done.");
    assert_eq!(efforts(&talk), ["\"medium\"", "\"low\""]);
    assert!(!talk.last_request()["messages"].to_string().contains("about all of it"), "it is not kept");
    talk.expect_failure(
        "think",
        [long(), long()],
        &["used its whole limit for thinking", "`max_tokens` under `[model]`"],
    );
    assert_eq!(efforts(&talk)[2..], ["\"medium\"", "\"low\""]);
    assert_eq!(talk.refusals(), []);
}

/// Failures that only the user can fix contain the vendor's message and the remedy.
#[test]
fn failures_that_the_user_can_fix_say_how() {
    let talk = Conversation::with("claude-sonnet-5-5");
    let spent = ScriptedReply::spend_limited_with("Too many requests this month.");
    talk.expect_failure("hi", [spent], &["spend limit", "Too many requests this month.", "Raise the limit"]);
    let declined = ScriptedReply::text("I").with_model_refusal(Some("cyber"));
    talk.expect_failure(
        "how?",
        [ScriptedReply::text("hi"), declined],
        &["The model declined to answer: its vendor blocks", "`/model`"],
    );
    let server = talk.model_server.model();
    talk.exchange("/model claude-opus-4-1", [], "I don't know this id");
    talk.expect_failure(
        "hi",
        [],
        &["`claude-opus-4-1` is not available", "`/model opus` switches to the current opus"],
    );
    talk.exchange("/model fable", [], "fable answers");
    server.deny_access("claude-fable-5-2");
    talk.expect_failure("hi", [], &["`claude-fable-5-2` is not available", "no access", "`/model sonnet`"]);
    talk.exchange("/model sonnet", [], "sonnet answers");
    talk.exchange("hi", [thinking().with_text("Here I am.")], "Here I am.");
}

/// Notes between tool calls are progress events, and not part of the answer.
#[test]
fn notes_between_tool_calls_are_progress_and_not_part_of_the_answer() {
    let talk = Conversation::with("claude-sonnet-5-5");
    let running = talk.program.start();
    let mut events = running.events().expect("events");
    talk.model_server.model().script(tool_loop());
    let message = running.send_message("remember milk").expect("a number");
    let mut seen = Vec::new();
    for event in events.by_ref() {
        let is_end = event.name == "ended" && event.data["answers"] == message;
        seen.push(event);
        if is_end {
            break;
        }
    }
    let data_of = |name: &str| -> String {
        seen.iter().filter(|event| event.name == name).map(|event| event.data.to_string()).collect()
    };
    assert!(data_of("progress").contains("Writing it down."), "{seen:?}");
    for name in ["delta", "said", "ended"] {
        assert!(!data_of(name).contains("Writing it down."), "{name}: {seen:?}");
    }
    assert!(data_of("delta").contains("Kept."), "{seen:?}");
    running.terminate();
    let output = talk.program.run(&["history", "export", "main"]);
    let history = stdout(&output);
    assert!(history.contains("Kept."), "{history} {}", stderr(&output));
    assert!(!history.contains("Writing it down."), "{history}");
    talk.exchange("sure?", [thinking().with_text("Yes.")], "Yes.");
    let sent_back = talk.last_request()["messages"].to_string();
    assert!(sent_back.contains("Writing it down."), "the thinking block goes back unchanged: {sent_back}");
    assert_eq!(talk.refusals(), []);
}

/// The terminal shows a note while tools run, and removes it when the answer begins.
#[test]
fn terminal_shows_a_note_until_the_answer_begins() {
    let talk = Conversation::with("claude-sonnet-5-5");
    let gate = Gate::new();
    let [first, second] = tool_loop();
    talk.model_server.model().script([first, second.waiting_at_start(&gate)]);
    let pane = Pane::open(&talk.program, &[], (100, 30));
    pane.wait_until("a prompt", |screen| screen.lines().any(|line| line.trim_end() == ">"));
    pane.type_line("remember milk");
    pane.wait_for_text("Writing it down.");
    gate.release();
    let screen = pane.wait_for_text("Kept.");
    assert!(!screen.contains("Writing it down."), "{screen}");
}

/// `/effort` describes a model by its record from the vendor, as soon as it is known and after a
/// restart.
#[test]
fn effort_is_described_from_the_record_of_the_model() {
    let talk = Conversation::with("claude-sonnet-5-5");
    talk.model_server.model().change_model("claude-sonnet-5-5", |spec| spec.effort = &["low", "high"]);
    let effort = |running: &RunningProgram| running.command("/effort medium").expect("an answer").to_string();
    let running = talk.program.start();
    let before = effort(&running);
    assert!(before.contains("effort is medium") && !before.contains("uses low"), "{before}");
    let gate = Gate::new();
    talk.model_server.model().script([thinking().with_text("Hello.").waiting_at_start(&gate)]);
    talk.release_after_record(&gate, || running.send_and_wait("hello").expect("an answer"));
    let output = effort(&running);
    assert!(output.contains("claude-sonnet-5-5 has no medium effort and uses low."), "{output}");
    running.terminate();
    talk.exchange("/effort medium", [], "claude-sonnet-5-5 has no medium effort and uses low.");
}

/// A conversation is compacted within the window of the vendor's record, although the setting
/// allows more.
#[test]
fn conversation_is_compacted_within_the_window_of_the_model() {
    let talk = Conversation::with("claude-sonnet-5-5");
    talk.model_server.model().change_model("claude-sonnet-5-5", |spec| spec.window = 100_000);
    let gate = Gate::new();
    let used = Usage { input: 85_000, ..Usage::default() };
    let long = thinking().with_text("It is a long story.").with_usage(used).waiting_at_start(&gate);
    talk.release_after_record(&gate, || talk.exchange("tell me", [long], "It is a long story."));
    let summary = "The user asked for a story and was told a long one.";
    talk.exchange("and then?", [thinking().with_text(summary), thinking().with_text("The end.")], "The end.");
    assert!(talk.last_request()["messages"].to_string().contains("[summary of our conversation"));
}

/// Requests of all kinds of turns share their prefix, thinking and effort, so nearly all of a long
/// conversation is read from the vendor's cache.
#[test]
fn all_kinds_of_turns_read_the_conversation_from_the_cache() {
    let talk = Conversation::with("claude-sonnet-5-5");
    let file = talk.program.data().join("routines/log.md");
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    let routine = "---\nid: log\ncron: 0 3 1 1 *\nbackground: true\n---\nIs there anything to do?\n";
    std::fs::write(file, routine).expect("a routine");
    let long = "what of it, and why? ".repeat(4_500);
    for _ in 0..3 {
        talk.exchange(&long, [thinking().with_text("Because.")], "Because.");
    }
    let warm = talk.model_server.model().usage().len();
    talk.exchange("so?", [thinking().with_text("Yes.")], "Yes.");
    let running = talk.program.start();
    talk.model_server.model().script([thinking().with_text("Side talk."), thinking().with_text("Aside.")]);
    running.command("/fork a detour").expect("a side conversation");
    let answered = running.send_and_wait("more on that").expect("an answer");
    assert_eq!(answered.data["how"], "finished", "{answered:?}");
    running.command("/exit").expect("it is left");
    running.terminate();
    talk.model_server
        .model()
        .script([thinking().with_text("Nothing to do."), thinking().with_text("Nothing.")]);
    let output = talk.program.run(&["routine", "run", "log"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(talk.last_request()["messages"].to_string().contains("Is there anything to do?"));
    let usages = talk.model_server.model().usage();
    assert!(usages.len() >= warm + 3, "{usages:?}");
    for usage in &usages[warm..] {
        let whole = usage.input + usage.cache_read + usage.cache_write;
        assert!(whole > 90_000 && 1_000 * usage.cache_read >= 980 * whole, "{usages:?}");
    }
    assert_eq!(talk.refusals(), []);
}

/// The doctor sends a request like that of a conversation, and shows the vendor's error.
#[test]
fn doctor_shows_why_the_vendor_refuses_our_request() {
    let talk = Conversation::with("claude-sonnet-5-5");
    let check = |act: ScriptedReply, sentences: &[&str]| {
        talk.model_server.model().script([act]);
        let output = talk.program.run(&["doctor"]);
        for sentence in sentences {
            assert!(stdout(&output).contains(sentence), "{sentence}: {}", stdout(&output));
        }
        let request = talk.last_request();
        assert!(request["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{request}");
        assert_eq!(request["thinking"]["type"], "adaptive", "{request}");
    };
    let refused = "tools.0.custom.input_schema: JSON schema is not supported by this model";
    check(
        ScriptedReply::refusal(400, "invalid_request_error", refused),
        &["✗ model ", refused, "fix: ollim-bot setup model"],
    );
    check(
        ScriptedReply::spend_limited(),
        &[
            "✗ model ",
            "You have reached your specified workspace spend limit",
            "Raise the limit in the vendor's console",
        ],
    );
}
