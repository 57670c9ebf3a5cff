//! Conversations with each kind of Anthropic model, on a server that enforces the vendor's rules.
#![expect(clippy::expect_used, reason = "helpers of tests stop at once, with their reason")]

use serde_json::{Value, json};
use testkit::kill::{Backstage, Program, stderr, stdout};
use testkit::model_server::{Act, Fault};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// A summary that keeps the facts of the conversation below, so that it is accepted.
const SUMMARY: &str =
    "The user asked to remember milk, which is in the inbox, and has the booking LH4711 to Lisbon.";

/// The program, and the model server that it talks to.
struct Talk {
    backstage: Backstage,
    program: Program,
}

impl Talk {
    fn with(model: &str) -> Self {
        let backstage = Backstage::open();
        let mut program = Program::answered_by(BINARY, &backstage);
        program.set("OLLIM_MODEL", &format!("anthropic:{model}")).set("OLLIM_THINKING", "adaptive");
        Self { backstage, program }
    }

    /// Says `words`, and checks that the answer is `answer`.
    fn says(&self, words: &str, acts: impl IntoIterator<Item = Act>, answer: &str) {
        self.backstage.model().script(acts);
        let output = self.program.run(&["chat", "--once", words]);
        assert_eq!(output.status.code(), Some(0), "{words}: {} {:?}", stderr(&output), self.refusals());
        assert!(stdout(&output).contains(answer), "{words}: {}", stdout(&output));
    }

    /// Says `words`, and checks that the answer breaks off and is kept.
    fn breaks_off(&self, words: &str, act: Act) {
        self.backstage.model().script([act]);
        let output = self.program.run(&["chat", "--once", words]);
        assert_eq!(output.status.code(), Some(1), "{words}: {}", stdout(&output));
        assert!(stderr(&output).contains("say `go on`"), "{words}: {}", stderr(&output));
    }

    fn refusals(&self) -> Vec<Option<String>> {
        self.backstage.model().refused().into_iter().map(|logged| logged.refusal).collect()
    }

    fn last_request(&self) -> Value {
        self.backstage.requests().pop().expect("a request").json
    }
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

/// Plays one conversation on `model`, with `other` as the model for a while, and returns it.
fn conversation(model: &str, other: &str) -> Talk {
    let mut talk = Talk::with(model);
    talk.says("remember milk; my booking to Lisbon is LH4711", tool_loop(), "Kept.");
    talk.says("/name Julia", [], "Julia");
    talk.says("who am i?", [thinks().and_says("Julia.")], "Julia.");
    let changed = talk.last_request();
    assert!(changed["messages"].to_string().contains("Your instructions have changed."), "{changed}");
    assert!(!changed["system"].to_string().contains("Julia"), "{changed}");

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

/// The doctor sends the request of a conversation, and passes on the vendor's sentence.
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
        &["✗ model ", "You have reached your specified workspace spend limit", "raise the limit there"],
    );
}
