//! The real program under the engine's turn driver, with the same approvals and limits as every
//! other model.

use std::sync::{Arc, Mutex};

use domain::approval::Consent;
use domain::assistant::{Answer, Ended, Left, Progress, Purpose, Request, Shown, Start};
use domain::context::Window;
use domain::conversation::{Block, Branch, Entry, EntryId, Lineage, PathEntry, Reach, Said, Text};
use domain::effort::Effort;
use domain::permission::{Authority, Ruling, decide};
use domain::record::Record;
use domain::thinking::Thinking;
use domain::tool::{Outcome, ToolCall, ToolResult, ToolSpec};
use domain::turn::{Ending, TurnId};
use engine::desk::{Desk, Letter};
use engine::drive::{World, drive};
use engine::ports::{Hands, Journal, Margin, Model, Surface, Unreadable, Unwritten};
use engine::reins::{Hold, Reins};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use serde_json::json;
use testkit::model_server::{Act, Gate};
use tokio::sync::mpsc;

use crate::stage::{NOTED, Rig, Talk};

/// The environment of a turn except the model: a history, one tool, and a surface that collects
/// text.
struct Outside {
    talk: Talk,
    notes: Mutex<Vec<String>>,
    words: mpsc::UnboundedSender<String>,
}

impl Hands for Outside {
    fn tools(&self) -> Arc<[ToolSpec]> {
        Arc::clone(&self.talk.0.tools)
    }

    fn run<'a>(&'a self, _: TurnId, call: &'a ToolCall, _: &'a Desk) -> BoxFuture<'a, ToolResult> {
        self.notes.lock().unwrap().push(call.input.0.clone());
        ready(ToolResult {
            call: call.id.clone(),
            text: "noted".to_owned(),
            outcome: Outcome::Done,
            label: domain::label::Label::PLAIN,
        })
        .boxed()
    }
}

impl Journal for Outside {
    fn write(&self, _: Vec<Record>) -> BoxFuture<'_, Result<(), Unwritten>> {
        ready(Ok(())).boxed()
    }

    fn path(&self, _: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, Unreadable>> {
        let entries = self.talk.0.said.iter().zip(1..);
        ready(Ok(entries.map(|(said, id)| PathEntry { id: EntryId(id), said: Arc::clone(said) }).collect()))
            .boxed()
    }

    fn recent(
        &self,
        _: Branch,
        _: Option<EntryId>,
        _: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, Unreadable>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn lineage(&self, _limit: u32) -> BoxFuture<'_, Result<Lineage, Unreadable>> {
        ready(Err(Unreadable("there is none".to_owned()))).boxed()
    }

    fn entry(&self, _: EntryId) -> BoxFuture<'_, Result<Option<Entry>, Unreadable>> {
        ready(Ok(None)).boxed()
    }

    fn beside(&self, _: EntryId, _: Option<EntryId>) -> BoxFuture<'_, Result<Margin, Unreadable>> {
        ready(Ok(Margin::default())).boxed()
    }
}

impl Surface for Outside {
    fn show(&self, shown: &Shown) {
        if let Shown::Delta { text, .. } = shown {
            self.words.send(text.clone()).unwrap();
        }
    }
}

/// Answers the two requests of a turn like the assistant.
fn answer(request: Request, tools: &[ToolSpec]) -> Answer {
    let Request::Turn(_, Progress::MayRun { blocks, .. }) = request else { return Answer::Noted };
    let calls = blocks.iter().filter_map(|block| match block {
        Block::Call(call) => decide(call, tools, &Authority::MAIN, &Consent::default()),
        Block::Text(_) | Block::Opaque(_) => None,
    });
    Answer::Decided(calls.map(Ruling::Decided).collect())
}

/// Runs one turn of `conversation` with `model`. Streamed text is sent to `streamed`.
async fn turn(
    model: Arc<dyn Model>,
    talk: &Talk,
    words: mpsc::UnboundedSender<String>,
    reins: Reins,
) -> (Ended, Vec<String>) {
    let outside = Arc::new(Outside { talk: talk.clone(), notes: Mutex::default(), words });
    let (desk, mut pile) = Desk::new();
    let world = World {
        model,
        hands: outside.clone(),
        journal: outside.clone(),
        surface: outside.clone(),
        instructions: Arc::clone(&talk.0.instructions),
        patience: domain::patience::Limits::NONE,
        limits: domain::turn::Limits::HOUSE,
        calls: std::sync::Arc::new(engine::places::Places::new(4)),
    };
    let account = domain::cost::Account::answer_on(&Branch::Main);
    let turn = TurnId(1);
    let branch = Branch::Main;
    let purpose = Purpose::Answer;
    let from = EntryId(1);
    let start = Start {
        turn,
        branch,
        purpose,
        account,
        model: None,
        thinking: Thinking::Off,
        effort: Effort::Low,
        window: Window(200_000),
        human: "julius".to_owned(),
        from,
        seed: 7,
    };
    let door = async {
        while let Some(Letter::Asked(request, reply)) = pile.recv().await {
            let _ = reply.send(answer(request, &talk.0.tools));
        }
        std::future::pending::<()>().await
    };
    let ended = tokio::select! {
        ended = drive(start, world, desk, reins) => ended,
        () = door => unreachable!("it waits for ever"),
    };
    let notes = outside.notes.lock().unwrap().clone();
    (ended, notes)
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn the_driver_runs_the_programs_calls_and_an_interrupted_turn_keeps_its_half() {
    let Rig { server, claude, home: _home, .. } = Rig::new().await;
    let claude = Arc::new(claude);
    let gate = Gate::new();
    let calls =
        Act::says("Two.").and_calls(NOTED, &json!({"text": "a"})).and_calls(NOTED, &json!({"text": "b"}));
    let held = Act::says("Once upon a time").held_at(4, &gate);
    server.script([calls, Act::says("Done."), held, Act::says("Hello.")]);
    let (words, mut heard) = mpsc::unbounded_channel();
    let mut talk = Talk::main();

    talk.human("note a and b");
    let (ended, notes) = turn(claude.clone(), &talk, words.clone(), Hold::new().1).await;
    assert_eq!(ended.ending, Ending::Finished);
    assert_eq!(notes, [r#"{"text":"a"}"#, r#"{"text":"b"}"#]);
    let [Said::Assistant(last, Reach::Whole)] = said(&ended) else { panic!("{ended:?}") };
    assert_eq!(last.text(), "Done.");
    while heard.try_recv().is_ok() {}

    let mut talk = Talk::main();
    talk.human("a story");
    let (hold, reins) = Hold::new();
    let stopping = async {
        heard.recv().await.unwrap();
        hold.stop();
    };
    let ((ended, _), ()) = tokio::join!(turn(claude.clone(), &talk, words.clone(), reins), stopping);
    assert_eq!(ended.ending, Ending::Interrupted);
    let [half @ Said::Assistant(blocks, Reach::Cut)] = said(&ended) else { panic!("{ended:?}") };
    assert!("Once upon a time".starts_with(&blocks.text()), "{blocks:?}");

    talk.hear(half.clone());
    talk.human("hello?");
    let (ended, _) = turn(claude.clone(), &talk, words, Hold::new().1).await;
    assert_eq!(said(&ended)[0].text(), "Hello.");
    claude.close().await;
}

fn said(ended: &Ended) -> &[Said] {
    match &ended.left {
        Left::Said(said) => said,
        Left::Summary(summary) => panic!("nobody asked for {summary:?}"),
    }
}
