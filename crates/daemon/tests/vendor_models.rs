//! Conversations with each kind of Anthropic model, on a fake server that enforces the vendor's
//! rules.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::time::Instant;

use domain::conversation::Usage;
use serde_json::{Value, json};
use testkit::kill::{Backstage, Pane, Program, Running, stderr, stdout};
use testkit::model_server::{Act, Fault, Gate, Host, Options, Received};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// Contains all required facts of the conversation below, so that it is accepted.
const SUMMARY: &str =
    "The user asked to remember milk, which is in the inbox, and has the booking LH4711 to Lisbon.";

/// An image of one pixel.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\nIDATx\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";

/// The program and its model server.
struct Talk {
    backstage: Backstage,
    program: Program,
}

impl Talk {
    fn with(model: &str) -> Self {
        Self::at(Backstage::open(), model)
    }

    fn at(backstage: Backstage, model: &str) -> Self {
        let mut program = Program::answered_by(BINARY, &backstage);
        program.set("OLLIM_MODEL", &format!("anthropic:{model}")).set("OLLIM_THINKING", "adaptive");
        Self { backstage, program }
    }

    /// Sends `words`, and checks that the reply contains `answer`.
    fn says(&self, words: &str, acts: impl IntoIterator<Item = Act>, answer: &str) {
        self.backstage.model().script(acts);
        let output = self.program.run(&["chat", "--once", words]);
        assert_eq!(output.status.code(), Some(0), "{words}: {} {:?}", stderr(&output), self.refusals());
        assert!(stdout(&output).contains(answer), "{words}: {}", stdout(&output));
    }

    /// Sends an image and `words`.
    fn shows_picture(&self, words: &str, acts: impl IntoIterator<Item = Act>) {
        self.backstage.model().script(acts);
        let file = self.program.home().join("picture.png");
        std::fs::write(&file, PICTURE).expect("a picture");
        let output = self.program.run(&["chat", "--once", "--image", file.to_str().expect("a path"), words]);
        assert_eq!(output.status.code(), Some(0), "{words}: {} {:?}", stderr(&output), self.refusals());
    }

    /// Sends `words`, and checks that it fails with all of `sentences`.
    fn fails(&self, words: &str, acts: impl IntoIterator<Item = Act>, sentences: &[&str]) {
        self.backstage.model().script(acts);
        let output = self.program.run(&["chat", "--once", words]);
        assert_eq!(output.status.code(), Some(1), "{words}: {}", stdout(&output));
        for sentence in sentences {
            assert!(stderr(&output).contains(sentence), "{words}: {sentence}: {}", stderr(&output));
        }
    }

    /// Sends `words`, and checks that the answer is cut off and can be continued.
    fn breaks_off(&self, words: &str, act: Act) {
        self.backstage.model().script([act]);
        let output = self.program.run(&["chat", "--once", words]);
        assert_eq!(output.status.code(), Some(1), "{words}: {}", stdout(&output));
        assert!(stderr(&output).contains("say `go on`"), "{words}: {}", stderr(&output));
    }

    /// Runs `ask`, and releases the reply at `gate` once the model's record is stored.
    fn releases_after_the_record<T>(&self, gate: &Gate, ask: impl FnOnce() -> T) -> T {
        let file = self.program.data().join("state/models.json");
        let started = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !file.exists() && started.elapsed() < testkit::PATIENCE {
                    std::thread::yield_now();
                }
                gate.release();
            });
            ask()
        })
    }

    fn refusals(&self) -> Vec<Option<String>> {
        self.backstage.model().refused().into_iter().map(|logged| logged.refusal).collect()
    }

    fn last_request(&self) -> Value {
        self.backstage.requests().pop().expect("a request").json
    }
}

/// A scripted refusal that does not come from the rules of the server.
fn refuses_pictures() -> Act {
    Act::refuses(400, "invalid_request_error", "messages.9.content.0.image: Could not process image")
}

fn thinks() -> Act {
    Act::empty().and_signed_thinking("Let me see.")
}

fn tool_loop() -> [Act; 2] {
    [
        thinks().and_notes("Writing it down.").and_calls("inbox_add", &json!({"text": "milk"})),
        thinks().and_says("Kept."),
    ]
}

/// Runs a conversation on `model`, with `other` as the model for a while.
fn conversation(model: &str, other: &str) -> Talk {
    let mut talk = Talk::with(model);
    talk.says("remember milk; my booking to Lisbon is LH4711", tool_loop(), "Kept.");
    talk.says("/name Julia", [], "Julia");
    talk.says("who am i?", [thinks().and_says("Julia.")], "Julia.");
    let changed = talk.last_request();
    assert!(changed["messages"].to_string().contains("Your instructions have changed."), "{changed}");
    assert!(!changed["system"].to_string().contains("Julia"), "{changed}");
    // Thinking counts towards the limit, so a small one would cut answers off.
    assert!(changed["max_tokens"].as_u64() >= Some(32_000), "{changed}");

    talk.says(&format!("/model {other}"), [], other);
    talk.says("and now?", tool_loop(), "Kept.");
    talk.says("/model default", [], "");
    talk.says("back again?", tool_loop(), "Kept.");
    assert_eq!(talk.last_request()["model"], model);

    talk.program.set("OLLIM_BOT_NAME", "Robin");
    talk.says("what is your name?", [thinks().and_says("Robin.")], "Robin.");
    assert!(talk.last_request()["messages"].to_string().contains("Robin"));

    let running = talk.program.start();
    talk.backstage.model().script([
        thinks().and_says("Side talk."),
        thinks().and_says("Aside."),
        thinks().and_says("Yes."),
    ]);
    running.command("/fork a detour").expect("a side conversation");
    let answered = running.converse("more on that").expect("an answer");
    assert_eq!(answered.data["how"], "finished", "{answered:?}");
    running.command("/save").expect("it is saved");
    let answered = running.converse("still there?").expect("an answer");
    assert_eq!(answered.data["how"], "finished", "{answered:?}");
    running.terminate();

    talk.says("/compact", [thinks().and_says(SUMMARY)], "");
    talk.says("what was my booking?", [thinks().and_says("LH4711.")], "LH4711.");
    let summed = talk.last_request();
    assert!(summed["messages"].to_string().contains("[summary of our conversation"), "{summed}");
    assert!(summed["system"].to_string().contains("Julia"), "a summary begins with the newest instructions");
    talk.says("/undo", [], "");
    talk.says("and before?", [thinks().and_says("Yes.")], "Yes.");
    assert!(!talk.last_request()["messages"].to_string().contains("[summary of our conversation"));

    talk.breaks_off("tell me a story", Act::says("Once upon a time there was a fox").with(Fault::Cut(4)));
    talk.says("go on", tool_loop(), "Kept.");

    talk.shows_picture("look at this", [refuses_pictures(), thinks().and_says("I can't see it.")]);
    assert!(!talk.last_request()["messages"].to_string().contains("image/png"));
    talk.says("never mind", [thinks().and_says("All right.")], "All right.");
    assert!(talk.last_request()["messages"].to_string().contains("image/png"), "it is shown to others again");
    talk
}

#[test]
fn sonnet_is_asked_as_it_wants_to_be() {
    assert_eq!(conversation("claude-sonnet-5-5", "haiku").refusals(), []);
}

#[test]
fn opus_is_asked_as_it_wants_to_be() {
    assert_eq!(conversation("claude-opus-5-5", "sonnet").refusals(), []);
}

#[test]
fn haiku_is_asked_as_it_wants_to_be() {
    assert_eq!(conversation("claude-haiku-5-5", "opus").refusals(), []);
}

#[test]
fn fable_is_asked_as_it_wants_to_be() {
    assert_eq!(conversation("claude-fable-5-2", "sonnet").refusals(), []);
}

#[test]
fn an_older_haiku_is_asked_as_it_wants_to_be() {
    assert_eq!(conversation("claude-haiku-4-5", "sonnet").refusals(), []);
}

/// Every thinking setting results in a request that the model accepts, including `auto`, the
/// default.
#[test]
fn every_way_to_think_is_accepted_by_every_model() {
    for model in
        ["claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-fable-5-2", "claude-haiku-4-5"]
    {
        let mut talk = Talk::with(model);
        talk.program.set("OLLIM_THINKING", "auto");
        let running = talk.program.start();
        for way in ["auto", "off", "8k", "adaptive", "64k", "auto"] {
            running.command(&format!("/thinking {way}")).expect("a choice");
            talk.backstage.model().script(tool_loop());
            let answered = running.converse("remember milk").expect("an answer");
            assert_eq!(answered.data["how"], "finished", "{model} {way}: {answered:?}");
        }
        running.terminate();
        assert_eq!(talk.refusals(), [], "{model}");
    }
}

/// With thinking off, Sonnet 5.5 has no field that drops thinking from another conversation. After
/// an undone compaction the first request is refused and repeated without that thinking; later ones
/// are not refused.
#[test]
fn a_refusal_of_earlier_thinking_never_reaches_the_user() {
    let mut talk = Talk::with("claude-sonnet-5-5");
    talk.program.set("OLLIM_THINKING", "off");
    let running = talk.program.start();
    talk.says("remember milk; my booking to Lisbon is LH4711", tool_loop(), "Kept.");
    talk.says("/compact", [thinks().and_says(SUMMARY)], "");
    talk.says("and more milk", tool_loop(), "Kept.");
    assert_eq!(talk.refusals(), []);
    talk.says("/undo", [], "");
    talk.says("and before?", tool_loop(), "Kept.");
    talk.says("again?", tool_loop(), "Kept.");
    let refusals = talk.refusals();
    let [Some(refusal)] = &refusals[..] else { panic!("{refusals:?}") };
    assert!(refusal.contains("bound to a different conversation"), "{refusal}");
    running.terminate();
}

/// A third-party host that refuses newer fields no longer gets them. Each request comes from
/// another process, so this is remembered across restarts.
#[test]
fn another_host_is_asked_without_the_fields_that_it_refused() {
    let options = Options { host: Host::Foreign, ..Options::default() };
    let talk = Talk::at(Backstage::open_with(options), "claude-sonnet-5-5");
    let refused = || {
        let all = talk.backstage.model().refused();
        all.iter().filter(|logged| logged.method == "POST").count()
    };
    talk.says("hi", [Act::says("Hello.")], "Hello.");
    let of_the_first = refused();
    assert!((1..=6).contains(&of_the_first), "{:?}", talk.refusals());
    talk.says("remember milk", tool_loop(), "Kept.");
    assert_eq!(refused(), of_the_first, "{:?}", talk.refusals());
    // Changed instructions are sent as a special message to the vendor, which other hosts refuse
    // too.
    talk.says("/name Julia", [], "Julia");
    talk.says("who am i?", [Act::says("Julia.")], "Julia.");
    assert_eq!(refused(), of_the_first + 1, "{:?}", talk.refusals());
    talk.says("sure?", [Act::says("Yes.")], "Yes.");
    assert_eq!(refused(), of_the_first + 1, "{:?}", talk.refusals());
    assert!(talk.last_request()["messages"].to_string().contains("Julia"));
}

/// Returns the effort of each request so far.
fn efforts(talk: &Talk) -> Vec<String> {
    let effort = |request: &Received| request.json["output_config"]["effort"].to_string();
    talk.backstage.requests().iter().map(effort).collect()
}

/// A reply that used its limit for thinking is requested once more at a lower effort.
#[test]
fn a_reply_of_thinking_alone_is_asked_for_again_at_a_lower_effort() {
    let talk = Talk::with("claude-sonnet-5-5");
    let long = || Act::only_thinks("Let me think about all of it.");
    talk.says("think", [long(), thinks().and_says("Done.")], "Done.");
    assert_eq!(efforts(&talk), ["\"medium\"", "\"low\""]);
    assert!(!talk.last_request()["messages"].to_string().contains("about all of it"), "it is not kept");
    talk.fails(
        "think",
        [long(), long()],
        &["used its whole limit for thinking", "`max_tokens` under `[model]`"],
    );
    assert_eq!(efforts(&talk)[2..], ["\"medium\"", "\"low\""]);
    assert_eq!(talk.refusals(), []);
}

/// Failures that only the user can fix contain the vendor's message and the remedy.
#[test]
fn failures_that_the_user_can_mend_say_how() {
    let talk = Talk::with("claude-sonnet-5-5");
    let spent = Act::spend_limited_saying("Too many requests this month.");
    talk.fails("hi", [spent], &["spend limit", "Too many requests this month.", "Raise the limit"]);
    let declined = Act::says("I").declining(Some("cyber"));
    talk.fails(
        "how?",
        [Act::says("hi"), declined],
        &["The model declined to answer: its vendor blocks", "`/model`"],
    );
    let server = talk.backstage.model();
    talk.says("/model claude-opus-4-1", [], "I don't know this id");
    talk.fails(
        "hi",
        [],
        &["`claude-opus-4-1` is not available", "`/model opus` switches to the current opus"],
    );
    talk.says("/model fable", [], "fable answers");
    server.deny_access("claude-fable-5-2");
    talk.fails("hi", [], &["`claude-fable-5-2` is not available", "no access", "`/model sonnet`"]);
    talk.says("/model sonnet", [], "sonnet answers");
    talk.says("hi", [thinks().and_says("Here I am.")], "Here I am.");
}

/// Notes between tool calls are progress events, and not part of the answer.
#[test]
fn notes_between_tool_calls_are_progress_and_not_part_of_the_answer() {
    let talk = Talk::with("claude-sonnet-5-5");
    let running = talk.program.start();
    let mut events = running.events().expect("events");
    talk.backstage.model().script(tool_loop());
    let message = running.say("remember milk").expect("a number");
    let mut seen = Vec::new();
    for event in events.by_ref() {
        let is_end = event.name == "ended" && event.data["answers"] == message;
        seen.push(event);
        if is_end {
            break;
        }
    }
    let of = |name: &str| -> String {
        seen.iter().filter(|event| event.name == name).map(|event| event.data.to_string()).collect()
    };
    assert!(of("progress").contains("Writing it down."), "{seen:?}");
    for name in ["delta", "said", "ended"] {
        assert!(!of(name).contains("Writing it down."), "{name}: {seen:?}");
    }
    assert!(of("delta").contains("Kept."), "{seen:?}");
    running.terminate();
    let output = talk.program.run(&["history", "export", "main"]);
    let history = stdout(&output);
    assert!(history.contains("Kept."), "{history} {}", stderr(&output));
    assert!(!history.contains("Writing it down."), "{history}");
    talk.says("sure?", [thinks().and_says("Yes.")], "Yes.");
    let sent_back = talk.last_request()["messages"].to_string();
    assert!(sent_back.contains("Writing it down."), "the thinking block goes back unchanged: {sent_back}");
    assert_eq!(talk.refusals(), []);
}

/// The terminal shows a note while tools run, and removes it when the answer begins.
#[test]
fn the_terminal_shows_a_note_until_the_answer_begins() {
    let talk = Talk::with("claude-sonnet-5-5");
    let gate = Gate::new();
    let [first, second] = tool_loop();
    talk.backstage.model().script([first, second.held_back(&gate)]);
    let pane = Pane::open(&talk.program, &[], (100, 30));
    pane.until("a prompt", |screen| screen.lines().any(|line| line.trim_end() == ">"));
    pane.says("remember milk");
    pane.shows("Writing it down.");
    gate.release();
    let screen = pane.shows("Kept.");
    assert!(!screen.contains("Writing it down."), "{screen}");
}

/// `/effort` describes a model by its record from the vendor, as soon as it is known and after a
/// restart.
#[test]
fn settings_are_explained_from_the_record_of_the_model() {
    let talk = Talk::with("claude-sonnet-5-5");
    talk.backstage.model().change_model("claude-sonnet-5-5", |spec| spec.effort = &["low", "high"]);
    let effort = |running: &Running| running.command("/effort medium").expect("an answer").to_string();
    let running = talk.program.start();
    let before = effort(&running);
    assert!(before.contains("effort is medium") && !before.contains("uses low"), "{before}");
    let gate = Gate::new();
    talk.backstage.model().script([thinks().and_says("Hello.").held_back(&gate)]);
    talk.releases_after_the_record(&gate, || running.converse("hello").expect("an answer"));
    let told = effort(&running);
    assert!(told.contains("claude-sonnet-5-5 has no medium effort and uses low."), "{told}");
    running.terminate();
    talk.says("/effort medium", [], "claude-sonnet-5-5 has no medium effort and uses low.");
}

/// A conversation is compacted within the window of the vendor's record, although the setting
/// allows more.
#[test]
fn a_conversation_is_summed_up_within_the_window_of_the_model() {
    let talk = Talk::with("claude-sonnet-5-5");
    talk.backstage.model().change_model("claude-sonnet-5-5", |spec| spec.window = 100_000);
    let gate = Gate::new();
    let used = Usage { input: 85_000, ..Usage::default() };
    let long = thinks().and_says("It is a long story.").charging(used).held_back(&gate);
    talk.releases_after_the_record(&gate, || talk.says("tell me", [long], "It is a long story."));
    let summary = "The user asked for a story and was told a long one.";
    talk.says("and then?", [thinks().and_says(summary), thinks().and_says("The end.")], "The end.");
    assert!(talk.last_request()["messages"].to_string().contains("[summary of our conversation"));
}

/// Requests of all kinds of turns share their prefix, thinking and effort, so nearly all of a long
/// conversation is read from the vendor's cache.
#[test]
fn a_main_turn_and_both_kinds_of_forks_read_the_conversation_from_the_cache() {
    let talk = Talk::with("claude-sonnet-5-5");
    let file = talk.program.data().join("routines/log.md");
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    let routine = "---\nid: log\ncron: 0 3 1 1 *\nbackground: true\n---\nIs there anything to do?\n";
    std::fs::write(file, routine).expect("a routine");
    let long = "what of it, and why? ".repeat(4_500);
    for _ in 0..3 {
        talk.says(&long, [thinks().and_says("Because.")], "Because.");
    }
    let warm = talk.backstage.model().usage().len();
    talk.says("so?", [thinks().and_says("Yes.")], "Yes.");
    let running = talk.program.start();
    talk.backstage.model().script([thinks().and_says("Side talk."), thinks().and_says("Aside.")]);
    running.command("/fork a detour").expect("a side conversation");
    let answered = running.converse("more on that").expect("an answer");
    assert_eq!(answered.data["how"], "finished", "{answered:?}");
    running.command("/exit").expect("it is left");
    running.terminate();
    talk.backstage.model().script([thinks().and_says("Nothing to do."), thinks().and_says("Nothing.")]);
    let output = talk.program.run(&["routine", "run", "log"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(talk.last_request()["messages"].to_string().contains("Is there anything to do?"));
    let usages = talk.backstage.model().usage();
    assert!(usages.len() >= warm + 3, "{usages:?}");
    for usage in &usages[warm..] {
        let whole = usage.input + usage.cache_read + usage.cache_write;
        assert!(whole > 90_000 && 1_000 * usage.cache_read >= 980 * whole, "{usages:?}");
    }
    assert_eq!(talk.refusals(), []);
}

/// The doctor sends a request like that of a conversation, and shows the vendor's error.
#[test]
fn the_doctor_tells_why_the_vendor_refuses_our_request() {
    let talk = Talk::with("claude-sonnet-5-5");
    let check = |act: Act, sentences: &[&str]| {
        talk.backstage.model().script([act]);
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
        Act::refuses(400, "invalid_request_error", refused),
        &["✗ model ", refused, "fix: ollim-bot setup model"],
    );
    check(
        Act::spend_limited(),
        &[
            "✗ model ",
            "You have reached your specified workspace spend limit",
            "Raise the limit in the vendor's console",
        ],
    );
}
