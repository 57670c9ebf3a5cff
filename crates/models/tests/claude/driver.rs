//! The real program under the engine's turn driver, with the same approvals and limits as every
//! other model.

use std::sync::{Arc, Mutex};

use domain::approval::Consent;
use domain::assistant::{Answer, Request, TurnKind, TurnOutcome, TurnOutput, TurnRequest, TurnStart, Update};
use domain::context::RequestLimit;
use domain::conversation::{
    Block, Branch, Completeness, Entry, EntryContent, EntryId, Lineage, PathEntry, Text,
};
use domain::effort::Effort;
use domain::permission::{Authority, CallDisposition, decide};
use domain::record::Record;
use domain::thinking::Thinking;
use domain::tool::{Outcome, ToolCall, ToolResult, ToolSpec};
use domain::turn::{TurnEnding, TurnId};
use engine::driver::{Services, drive};
use engine::handle::{AssistantHandle, Input};
use engine::ports::{Journal, Model, ReadError, SideMessages, Surface, ToolRunner, WriteError};
use engine::turn_control::{TurnControl, TurnHandle};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use serde_json::json;
use testkit::model_server::{Gate, ScriptedReply};
use tokio::sync::mpsc;

use crate::support::{Conversation, NOTE_TOOL_NAME, Rig};

/// The environment of a turn except the model: a history, one tool, and a surface that collects
/// text.
struct TestServices {
    conversation: Conversation,
    notes: Mutex<Vec<String>>,
    streamed: mpsc::UnboundedSender<String>,
}

impl ToolRunner for TestServices {
    fn tools(&self) -> Arc<[ToolSpec]> {
        Arc::clone(&self.conversation.0.tools)
    }

    fn run<'a>(&'a self, _: TurnId, call: &'a ToolCall, _: &'a AssistantHandle) -> BoxFuture<'a, ToolResult> {
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

impl Journal for TestServices {
    fn write(&self, _: Vec<Record>) -> BoxFuture<'_, Result<(), WriteError>> {
        ready(Ok(())).boxed()
    }

    fn path(&self, _: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, ReadError>> {
        let entries = self.conversation.0.entries.iter().zip(1..);
        ready(Ok(entries
            .map(|(said, id)| PathEntry { id: EntryId(id), content: Arc::clone(said) })
            .collect()))
        .boxed()
    }

    fn recent_entries(
        &self,
        _: Branch,
        _: Option<EntryId>,
        _: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, ReadError>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn lineage(&self, _limit: u32) -> BoxFuture<'_, Result<Lineage, ReadError>> {
        ready(Err(ReadError("there is none".to_owned()))).boxed()
    }

    fn entry(&self, _: EntryId) -> BoxFuture<'_, Result<Option<Entry>, ReadError>> {
        ready(Ok(None)).boxed()
    }

    fn side_messages(
        &self,
        _: EntryId,
        _: Option<EntryId>,
    ) -> BoxFuture<'_, Result<SideMessages, ReadError>> {
        ready(Ok(SideMessages::default())).boxed()
    }
}

impl Surface for TestServices {
    fn show(&self, shown: &Update) {
        if let Update::Delta { text, .. } = shown {
            self.streamed.send(text.clone()).unwrap();
        }
    }
}

/// Answers the two requests of a turn like the assistant.
fn answer(request: Request, tools: &[ToolSpec]) -> Answer {
    let Request::Turn(_, TurnRequest::MayRun { blocks, .. }) = request else { return Answer::Done };
    let calls = blocks.iter().filter_map(|block| match block {
        Block::Call(call) => decide(call, tools, &Authority::MAIN, &Consent::default()),
        Block::Text(_) | Block::Opaque(_) => None,
    });
    Answer::Rulings(calls.map(CallDisposition::Decided).collect())
}

/// Runs one turn of `conversation` with `model`. Streamed text is sent to `streamed`.
async fn run_turn(
    model: Arc<dyn Model>,
    conversation: &Conversation,
    streamed: mpsc::UnboundedSender<String>,
    control: TurnControl,
) -> (TurnOutcome, Vec<String>) {
    let services =
        Arc::new(TestServices { conversation: conversation.clone(), notes: Mutex::default(), streamed });
    let (handle, mut inputs) = AssistantHandle::new();
    let engine_services = Services {
        model,
        tools: services.clone(),
        journal: services.clone(),
        surface: services.clone(),
        instructions: Arc::clone(&conversation.0.instructions),
        retry_limits: domain::retry_policy::RetryLimits::NONE,
        limits: domain::turn::TurnLimits::DEFAULT,
        call_slots: std::sync::Arc::new(engine::call_slots::CallSlots::new(4)),
    };
    let account = domain::cost::Account::answer_on(&Branch::Main);
    let turn = TurnId(1);
    let branch = Branch::Main;
    let purpose = TurnKind::Answer;
    let from = EntryId(1);
    let start = TurnStart {
        turn,
        branch,
        kind: purpose,
        account,
        model: None,
        thinking: Thinking::Off,
        effort: Effort::Low,
        window: RequestLimit(200_000),
        user: "julius".to_owned(),
        from,
        seed: 7,
    };
    let assistant = async {
        while let Some(Input::Request(request, reply)) = inputs.recv().await {
            let _ = reply.send(answer(request, &conversation.0.tools));
        }
        std::future::pending::<()>().await
    };
    let ended = tokio::select! {
        ended = drive(start, engine_services, handle, control) => ended,
        () = assistant => unreachable!("it waits for ever"),
    };
    let notes = services.notes.lock().unwrap().clone();
    (ended, notes)
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn driver_runs_program_calls_and_interrupted_turn_keeps_its_text() {
    let Rig { server, claude, home: _home, .. } = Rig::new().await;
    let claude = Arc::new(claude);
    let gate = Gate::new();
    let calls = ScriptedReply::text("Two.")
        .with_tool_call(NOTE_TOOL_NAME, &json!({"text": "a"}))
        .with_tool_call(NOTE_TOOL_NAME, &json!({"text": "b"}));
    let held = ScriptedReply::text("Once upon a time").waiting_at_event(4, &gate);
    server.script([calls, ScriptedReply::text("Done."), held, ScriptedReply::text("Hello.")]);
    let (words, mut heard) = mpsc::unbounded_channel();
    let mut talk = Conversation::main();

    talk.add_user("note a and b");
    let (ended, notes) = run_turn(claude.clone(), &talk, words.clone(), TurnHandle::new().1).await;
    assert_eq!(ended.ending, TurnEnding::Finished);
    assert_eq!(notes, [r#"{"text":"a"}"#, r#"{"text":"b"}"#]);
    let [EntryContent::Assistant(last, Completeness::Complete)] = entries(&ended) else {
        panic!("{ended:?}")
    };
    assert_eq!(last.text(), "Done.");
    while heard.try_recv().is_ok() {}

    let mut talk = Conversation::main();
    talk.add_user("a story");
    let (hold, reins) = TurnHandle::new();
    let stopping = async {
        heard.recv().await.unwrap();
        hold.stop();
    };
    let ((ended, _), ()) = tokio::join!(run_turn(claude.clone(), &talk, words.clone(), reins), stopping);
    assert_eq!(ended.ending, TurnEnding::Interrupted);
    let [half @ EntryContent::Assistant(blocks, Completeness::Interrupted)] = entries(&ended) else {
        panic!("{ended:?}")
    };
    assert!("Once upon a time".starts_with(&blocks.text()), "{blocks:?}");

    talk.add(half.clone());
    talk.add_user("hello?");
    let (ended, _) = run_turn(claude.clone(), &talk, words, TurnHandle::new().1).await;
    assert_eq!(entries(&ended)[0].text(), "Hello.");
    claude.close().await;
}

fn entries(ended: &TurnOutcome) -> &[EntryContent] {
    match &ended.output {
        TurnOutput::Contents(said) => said,
        TurnOutput::Summary(summary) => panic!("nobody asked for {summary:?}"),
    }
}
