//! Tests of the terminal against a scripted daemon.
#![expect(clippy::unwrap_used, reason = "a test may stop")]

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use surfaces::client::Client;
use surfaces::terminal::history::History;
use surfaces::terminal::interactive::{AfterExit, ChatOptions, run_chat};
use surfaces::terminal::keys::{Direction, Input, Key};
use surfaces::terminal::screen::TextStyle;
use surfaces::terminal::{AnswerOutcome, InputMode, ask_once, chat, run_command};
use testkit::clock::VirtualClock;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::UnixListener;
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// Text with control characters, and the output that remains of it.
const CONTROL_TEXT: &str = "\u{1b}[2Jhi\u{7}\tyou\u{9b}31m\r\nthere";
const STRIPPED_TEXT: &str = "[2Jhi\tyou31m\nthere";

/// Responses of the daemon.
#[derive(Default)]
struct Script {
    events: Vec<(&'static str, Value)>,
    command: Value,
    messages: Value,
}

struct FakeDaemon {
    client: Client,
    _home: tempfile::TempDir,
    _server: JoinSet<()>,
}

impl Script {
    fn serve(self) -> FakeDaemon {
        let events: String = self.events.iter().map(|(name, data)| event_block(name, data)).collect();
        let router = Router::new()
            .route("/api/events", get(|| async { events }))
            .route("/api/commands", post(|| async { Json(self.command) }))
            .route("/api/messages", get(|| async { Json(self.messages) }))
            .route("/api/messages", post(|| async { Json(json!({ "message": 3 })) }));
        FakeDaemon::new(router)
    }
}

fn event_block(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

impl FakeDaemon {
    fn new(router: Router) -> Self {
        let home = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(home.path().join("door")).unwrap();
        let mut door = JoinSet::new();
        door.spawn(async { axum::serve(listener, router).await.unwrap() });
        Self { client: Client::new(home.path(), "door"), _home: home, _server: door }
    }

    /// A daemon that hangs on the message `hello` and on commands, and accepts other messages.
    fn hung() -> Self {
        let taken = broadcast::Sender::<String>::new(4);
        let take = taken.clone();
        let events = || async move {
            let next = async |mut taken: broadcast::Receiver<String>| {
                let block = match timeout(HEARTBEAT, taken.recv()).await {
                    Ok(block) => block.ok()?,
                    Err(_) => ": still here\n\n".to_owned(),
                };
                Some((Ok::<_, Infallible>(block), taken))
            };
            Body::from_stream(stream::unfold(taken.subscribe(), next))
        };
        let hear = |Json(words): Json<Value>| async move {
            if words["text"] == "hello" {
                pending::<()>().await;
            }
            take.send(event_block("said", &json!({ "entry": { "by": "human", "text": words["text"] } })))
                .unwrap();
            Json(json!({ "message": 3 }))
        };
        let router = Router::new()
            .route("/api/events", get(events))
            .route("/api/commands", post(pending::<()>))
            .route("/api/messages", post(hear));
        Self::new(router)
    }

    /// A daemon that accepts requests, sends one heartbeat, and is silent from then on.
    fn silent_after_heartbeat() -> Self {
        let events = || async {
            let beats = stream::iter([": still here\n\n"]).then(async |beat| {
                sleep(HEARTBEAT).await;
                Ok::<_, Infallible>(beat)
            });
            Body::from_stream(beats.chain(stream::pending()))
        };
        let router = Router::new()
            .route("/api/events", get(events))
            .route("/api/commands", post(|| async { Json(json!({ "turn": 9 })) }))
            .route("/api/messages", post(|| async { Json(json!({ "message": 3 })) }));
        Self::new(router)
    }
}

/// Interval of heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Error for a silent daemon.
const SILENT_ERROR: &str = "ollim-bot runs here, but nothing came from it for 45 s: it stands still. what it has taken, it \
                      keeps. `ollim-bot doctor` and `ollim-bot service status` tell more.";
/// Error for a request to a hung daemon.
const UNSURE_ERROR: &str = "ollim-bot runs here, but did not answer within 15 s: it stands still. it may or may not have taken \
                      this: look before you say it again. `ollim-bot doctor` and `ollim-bot service status` tell more.";
/// Longer than any timeout of a request.
const LONGER_THAN_TIMEOUT: Duration = Duration::from_secs(20);

fn clock() -> VirtualClock {
    VirtualClock::new("2026-11-15T14:36[Europe/Berlin]".parse().unwrap())
}

/// Returns the output for `line` from a pipe.
async fn pipe_output(script: Script, line: &str) -> String {
    let stage = script.serve();
    let mut out = Vec::new();
    chat(&stage.client, InputMode::Pipe, line.as_bytes(), &mut out).await.unwrap();
    String::from_utf8(out).unwrap()
}

#[tokio::test]
async fn a_streamed_answer_cannot_control_the_terminal() {
    let events = vec![
        ("began", json!({ "turn": 7, "answers": 3 })),
        ("delta", json!({ "turn": 7, "text": CONTROL_TEXT })),
        ("said", json!({ "entry": { "by": "assistant", "text": CONTROL_TEXT } })),
        ("notice", json!({ "text": CONTROL_TEXT })),
        ("ended", json!({ "turn": 7, "how": "failed", "why": CONTROL_TEXT })),
    ];
    let told = pipe_output(Script { events, ..Script::default() }, "hello").await;
    assert_eq!(told, format!("{STRIPPED_TEXT}\n").repeat(3));
}

#[tokio::test]
async fn an_answer_that_is_read_later_cannot_control_the_terminal() {
    let said = json!([{ "by": "human", "text": "hello" }, { "by": "assistant", "text": CONTROL_TEXT }]);
    let events = vec![("reload", json!({ "running": [] }))];
    let stage = Script { events, messages: json!({ "messages": said }), ..Script::default() }.serve();
    let mut out = Vec::new();
    let ended = ask_once(&stage.client, &"hello".into(), &mut out).await.unwrap();
    assert_eq!(ended, AnswerOutcome::Answered);
    assert_eq!(String::from_utf8(out).unwrap(), format!("\n{STRIPPED_TEXT}\n"));
}

#[tokio::test]
async fn the_reply_to_a_command_cannot_control_the_terminal() {
    let told =
        pipe_output(Script { command: json!({ "text": CONTROL_TEXT }), ..Script::default() }, " /status")
            .await;
    assert_eq!(told, format!("{STRIPPED_TEXT}\n"));
    let events = vec![("compacted", json!({ "turn": 9, "done": false, "text": CONTROL_TEXT }))];
    let begun = Script { events, command: json!({ "turn": 9 }), ..Script::default() };
    assert_eq!(pipe_output(begun, "/compact").await, format!("{STRIPPED_TEXT}\n"));
}

/// Nothing is typed until the daemon is gone.
#[tokio::test]
async fn interactive_output_cannot_control_the_terminal() {
    let events = vec![
        ("notice", json!({ "text": CONTROL_TEXT })),
        ("compacted", json!({ "turn": 9, "done": false, "text": CONTROL_TEXT })),
        ("began", json!({ "turn": 7, "answers": 3 })),
        ("ended", json!({ "turn": 7, "how": "failed", "why": CONTROL_TEXT })),
    ];
    let stage = Script { events, ..Script::default() }.serve();
    let (_hands, keyboard) = tokio::io::duplex(1);
    let mut out = Vec::new();
    let gone =
        chat(&stage.client, InputMode::Interactive(&clock()), BufReader::new(keyboard), &mut out).await;
    assert_eq!(gone.unwrap_err().to_string(), "ollim-bot is not running here. start it: ollim-bot");
    let out = String::from_utf8(out).unwrap();
    assert_eq!(out.matches("[2Jhi\tyou31m\n  there").count(), 3, "{out:?}");
    assert!(out.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')), "{out:?}");
}

#[tokio::test]
async fn work_with_a_missed_end_is_not_awaited() {
    let hello = ("hello", json!({ "running": [], "compacting": null }));
    let goes_on = ("reload", json!({ "running": [], "compacting": { "turn": 9 } }));
    let missed = ("reload", json!({ "running": [], "compacting": null }));
    let compacted = ("compacted", json!({ "turn": 9, "done": true, "text": "done" }));
    let check = async |events: Vec<(&'static str, Value)>| {
        let stage = Script { events, command: json!({ "turn": 9 }), ..Script::default() }.serve();
        run_command(&stage.client, "/compact").await.unwrap()
    };
    assert_eq!(check(vec![hello.clone(), goes_on.clone(), compacted.clone()]).await, Ok("done".to_owned()));
    let told = check(vec![hello, goes_on, missed, compacted]).await.unwrap_err();
    assert!(told.contains("`ollim-bot sessions tree`"), "{told}");
}

/// IF-2: the prompt shows the fork from the start, and other output is on lines of its own.
#[tokio::test]
async fn the_prompt_shows_the_fork() {
    let aside = json!({ "running": [], "fork": { "branch": "fork/a", "topic": "taxes" } });
    let events = vec![
        ("hello", aside),
        ("notice", json!({ "text": "it has been quiet for long." })),
        ("unforked", json!({ "branch": "fork/a", "text": "discarded." })),
        ("forked", json!({ "branch": "fork/b", "topic": null })),
        ("began", json!({ "turn": 7, "branch": "fork/b", "answers": 3 })),
        ("delta", json!({ "turn": 7, "text": "i am here" })),
        ("said", json!({ "branch": "fork/b", "entry": { "by": "assistant", "text": "i am here" } })),
        ("ended", json!({ "turn": 7, "how": "finished" })),
    ];
    let stage = Script { events, ..Script::default() }.serve();
    let (_hands, keyboard) = tokio::io::duplex(1);
    let mut out = Vec::new();
    chat(&stage.client, InputMode::Interactive(&clock()), BufReader::new(keyboard), &mut out)
        .await
        .unwrap_err();
    let screen = "> 
  (side conversation about taxes. leave it with /save, /report or /exit)
aside (taxes)> 
  it has been quiet for long.
aside (taxes)> 
  (side conversation discarded.)
> 
  (side conversation. leave it with /save, /report or /exit)
  i am here
aside> ";
    assert_eq!(String::from_utf8(out).unwrap(), screen);
}

/// RC-8: bold markup is removed in the terminal, and every command is passed on.
#[tokio::test]
async fn the_reply_to_a_command_is_plain_text() {
    let told = json!({ "text": "**model.main**: opus\n**model.fork**: (inherit main)" });
    let told = pipe_output(Script { command: told, ..Script::default() }, "/config").await;
    assert_eq!(told, "model.main: opus\nmodel.fork: (inherit main)\n");
    let left = Script { command: json!({ "text": "left" }), ..Script::default() };
    assert_eq!(pipe_output(left, "/exit\n/quit\n/status").await, "left\n");
}

/// A message that may not have been accepted is not expected back; the next one that comes back is
/// the one sent next.
#[tokio::test(start_paused = true)]
async fn a_hung_daemon_does_not_end_the_chat() {
    let stage = FakeDaemon::hung();
    let (mut hands, keyboard) = tokio::io::duplex(64);
    let typing = async {
        for line in ["hello\n", "/status\n", "hello again\n", "/quit\n"] {
            hands.write_all(line.as_bytes()).await.unwrap();
            sleep(LONGER_THAN_TIMEOUT).await;
        }
    };
    let clock = clock();
    let mut out = Vec::new();
    let chatting = chat(&stage.client, InputMode::Interactive(&clock), BufReader::new(keyboard), &mut out);
    let (ended, ()) = tokio::join!(chatting, typing);
    ended.unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), format!(">   {UNSURE_ERROR}\n>   {UNSURE_ERROR}\n> "));
}

/// An accepted request is awaited while heartbeats arrive, and a little longer.
#[tokio::test(start_paused = true)]
async fn a_silent_daemon_is_not_awaited() {
    let stage = FakeDaemon::silent_after_heartbeat();
    let began = Instant::now();
    let answer = ask_once(&stage.client, &"hello".into(), &mut Vec::new()).await;
    assert_eq!(answer.unwrap_err().to_string(), SILENT_ERROR);
    assert_eq!(began.elapsed(), HEARTBEAT * 4);
    assert_eq!(run_command(&stage.client, "/compact").await.unwrap_err().to_string(), SILENT_ERROR);
    let piped = chat(&stage.client, InputMode::Pipe, "hello".as_bytes(), &mut Vec::new()).await;
    assert_eq!(piped.unwrap_err().to_string(), SILENT_ERROR);
}

/// Silence is reported once, and the chat continues.
#[tokio::test(start_paused = true)]
async fn silence_is_reported_once() {
    let stage = FakeDaemon::silent_after_heartbeat();
    let (mut hands, keyboard) = tokio::io::duplex(64);
    let typing = async {
        sleep(HEARTBEAT * 20).await;
        hands.write_all(b"/quit\n").await.unwrap();
    };
    let clock = clock();
    let mut out = Vec::new();
    let chatting = chat(&stage.client, InputMode::Interactive(&clock), BufReader::new(keyboard), &mut out);
    let (ended, ()) = tokio::join!(chatting, typing);
    ended.unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), format!("> \n  {SILENT_ERROR}\n> "));
}

/// A hung daemon does not end the interactive chat, and its messages can be recalled.
#[tokio::test(start_paused = true)]
async fn a_hung_daemon_does_not_end_the_interactive_chat() {
    let stage = FakeDaemon::hung();
    let typed = ["hello", "/status", "hello again"].map(|line| [Key::Pasted(line.to_owned()), Key::Enter]);
    let again =
        [Key::Recall(Direction::Earlier), Key::Recall(Direction::Earlier), Key::Recall(Direction::Earlier)];
    let keys = typed.into_iter().flatten().chain(again).chain([Key::Interrupt, Key::Interrupt]);
    let keys = stream::iter(keys).then(async |key| {
        sleep(LONGER_THAN_TIMEOUT).await;
        Ok(Input::Key(key))
    });
    let out = interactive_output(&stage, pin!(keys)).await;
    assert_eq!(out.matches(UNSURE_ERROR).count(), 2, "{out:?}");
    assert!(out.contains("> hello ^C") && !out.contains("elsewhere"), "{out:?}");
    assert!(out.contains(AfterExit::RemindersStop.text()), "{out:?}");
}

/// The interactive chat reports silence differently from a stopped daemon, and reports when it
/// ends.
#[tokio::test(start_paused = true)]
async fn a_silent_daemon_is_not_reported_as_stopped() {
    let stage = FakeDaemon::silent_after_heartbeat();
    let keys = stream::iter([Key::Interrupt, Key::Interrupt]).then(async |key| {
        sleep(HEARTBEAT * 3).await;
        Ok(Input::Key(key))
    });
    let out = interactive_output(&stage, pin!(keys)).await;
    let silent = out.find("(i stand still: nothing comes from me.");
    let back = out.find("(i am back.)");
    assert!(silent.is_some() && silent < back, "{out:?}");
    assert!(!out.contains("i am not running any more"), "{out:?}");
}

/// Returns the output of an interactive chat with these keys.
async fn interactive_output(
    stage: &FakeDaemon,
    keys: impl Stream<Item = io::Result<Input>> + Unpin,
) -> String {
    let seat = ChatOptions {
        name: "ollim",
        clock: &clock(),
        size: (400, 24),
        style: TextStyle::Plain,
        history: History::default(),
        save_history: &|_| {},
        after_exit: AfterExit::RemindersStop,
    };
    let mut out = Vec::new();
    run_chat(&stage.client, seat, keys, &mut out).await.unwrap();
    String::from_utf8(out).unwrap()
}
